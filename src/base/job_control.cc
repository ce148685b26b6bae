#include "base/job_control.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace vramfit::base {
namespace {

// Read in a handler of signals: neither locks nor memory of the heap.
std::array<std::atomic<pid_t>, 1024> groups;
std::atomic<bool> is_stopping = false;
std::atomic<int> stops = 0;
std::atomic<std::int64_t> stopped_ns = 0;

void tell_groups(int signal) {
  for (const auto& group : groups) {
    if (const pid_t number = group.load()) kill(-number, signal);
  }
}

void replace(pid_t from, pid_t to) {
  for (auto& group : groups) {
    pid_t expected = from;
    if (group.compare_exchange_strong(expected, to)) return;
  }
}

// raise() is about this thread, so that we are stopped before it returns, whichever threads there are.
void stop(int signal) {
  struct sigaction obey {};
  struct sigaction before {};
  sigemptyset(&obey.sa_mask);
  obey.sa_handler = SIG_DFL;
  sigaction(signal, &obey, &before);
  const std::int64_t start = steady_clock().now_ns();
  raise(signal);
  stopped_ns += steady_clock().now_ns() - start;
  ++stops;
  sigaction(signal, &before, nullptr);
}

class AwakeClock : public Clock {
 public:
  std::int64_t now_ns() const override { return steady_clock().now_ns() - stopped_ns.load(); }
};

}  // namespace

void add_group(pid_t group) { replace(0, group); }
void forget_group(pid_t group) { replace(group, 0); }

void stop_by(int signal, const std::function<void()>& first) {
  if (is_stopping.exchange(true)) return;
  struct sigaction ignore {};
  struct sigaction before {};
  sigemptyset(&ignore.sa_mask);
  ignore.sa_handler = SIG_IGN;
  sigaction(signal, &ignore, &before);
  kill(0, signal);  // the other ends of a pipe are of the same job
  sigaction(signal, &before, nullptr);
  tell_groups(SIGTSTP);
  stop(signal);
  first();
  tell_groups(SIGCONT);
  is_stopping = false;
}

void obey_stop(int signal) {
  if (is_stopping.exchange(true)) return;
  tell_groups(SIGTSTP);
  stop(signal);
  tell_groups(SIGCONT);
  is_stopping = false;
}

int times_stopped() { return stops.load(); }

const Clock& awake_clock() {
  static const AwakeClock clock;
  return clock;
}

LentTerminal::LentTerminal(bool is_wanted) : is_wanted_(is_wanted && isatty(STDIN_FILENO)) {}

bool LentTerminal::is_ours() const { return is_wanted_ && tcgetpgrp(STDIN_FILENO) == getpgrp(); }

void LentTerminal::lend(pid_t child) {
  if (!is_ours()) return;
  tcsetpgrp(STDIN_FILENO, child);
  note_lent();
}

void LentTerminal::note_lent() {
  is_lent_ = true;
  stops_ = times_stopped();
}

void LentTerminal::take_back() {
  if (is_lent()) tcsetpgrp(STDIN_FILENO, getpgrp());
  is_lent_ = false;
}

void LentTerminal::child_stopped(pid_t child, int signal) {
  const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
  lend(child);
  if (wants_terminal && is_lent()) {
    kill(-child, SIGCONT);  // it asked before it had it
  } else if (is_lent() || (wants_terminal && is_wanted_)) {
    take_back();
    stop_by(signal == SIGSTOP ? SIGTSTP : signal, [&] { lend(child); });
  }  // else whoever stopped it lets it go on
}

}  // namespace vramfit::base
