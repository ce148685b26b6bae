#include "base/interrupt.h"

#include <atomic>

namespace vramfit::base {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTTOU};
std::atomic<int> pending = 0;
std::atomic<bool> seen = false;
std::atomic<int> depth = 0;

void remember(int signal) {
  pending.store(signal);
  seen.store(true);
}

}  // namespace

InterruptScope::InterruptScope() {
  if (depth.fetch_add(1) == 0) {
    pending.store(0);
    seen.store(false);
  }
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    struct sigaction action {};
    sigemptyset(&action.sa_mask);
    action.sa_handler = kSignals[i] == SIGTTOU ? SIG_IGN : remember;  // no SA_RESTART: poll() must wake up
    sigaction(kSignals[i], &action, &before_[i]);
  }
}

InterruptScope::~InterruptScope() {
  for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  depth.fetch_sub(1);
}

int take_interrupt() { return pending.exchange(0); }
bool was_interrupted() { return seen.load(); }

}  // namespace vramfit::base
