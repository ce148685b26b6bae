#include "base/interrupt.h"

#include <atomic>

#include "base/job_control.h"

namespace vramfit::base {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTTOU, SIGTSTP};
std::atomic<int> pending = 0;
std::atomic<bool> seen = false;
std::atomic<int> depth = 0;

void remember(int signal) {
  pending.store(signal);
  seen.store(true);
}

struct sigaction action_of(int signal) {
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  action.sa_handler = signal == SIGTTOU ? SIG_IGN : remember;  // no SA_RESTART: poll() must wake up
  if (signal != SIGTSTP) return action;
  action.sa_handler = obey_stop;
  action.sa_flags = SA_RESTART | SA_NODEFER;  // it is raised anew in there, to be obeyed
  return action;
}

}  // namespace

InterruptScope::InterruptScope() {
  if (depth.fetch_add(1) == 0) {
    pending.store(0);
    seen.store(false);
  }
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    const struct sigaction action = action_of(kSignals[i]);
    sigaction(kSignals[i], &action, &before_[i]);
    const bool stays_ignored = kSignals[i] == SIGTSTP && before_[i].sa_handler == SIG_IGN;
    if (stays_ignored) sigaction(kSignals[i], &before_[i], nullptr);
  }
}

InterruptScope::~InterruptScope() {
  for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  depth.fetch_sub(1);
}

int take_interrupt() { return pending.exchange(0); }
bool was_interrupted() { return seen.load(); }

}  // namespace vramfit::base
