// Ctrl-Z, as a shell expects it: this process stops when its jobs do, and its jobs when it does.
//
//   shell ── vramfit (its group) ── child (a group of its own, often with the terminal) ── ...
//
// The terminal's SIGTSTP reaches one of these groups, so whichever hears of it stops the other: a child that stopped is
// seen by who waits for it (run_to_end), and a SIGTSTP of our own, within an InterruptScope, goes to every child's
// group before we stop. With SIGCONT all go on.
#ifndef VRAMFIT_BASE_JOB_CONTROL_H
#define VRAMFIT_BASE_JOB_CONTROL_H

#include <sys/types.h>

#include <functional>

#include "base/clock.h"

namespace vramfit::base {

// A group that stops and goes on with us, until it is forgotten: its number may be another's then.
void add_group(pid_t group);
void forget_group(pid_t group);

// Stops our group, all others that were added, and ourselves, by a signal that stopped a child. When we go on, or at
// once where nobody could make us (our group is an orphan), `first` is called, and the others go on too.
void stop_by(int signal, const std::function<void()>& first);

// What SIGTSTP does within an InterruptScope.
void obey_stop(int signal);

// How often we were stopped and went on.
int times_stopped();

// The steady clock, which here stands still while we are stopped: limits of time are about time in which the job ran.
const Clock& awake_clock();

// The terminal at stdin, lent to a child whose group is to read it and hear Ctrl-C. Needs an InterruptScope around it.
class LentTerminal {
 public:
  explicit LentTerminal(bool is_wanted);
  // Whether we are in the foreground, so that it can be lent. The child takes it itself before it becomes its program.
  bool is_ours() const;
  // To the child, if it is ours: now, or whenever a shell has put us into the foreground again.
  void lend(pid_t child);
  void note_lent();  // the child has taken it
  bool is_lent() const { return is_lent_ && stops_ == times_stopped(); }
  void take_back();
  // The child was stopped by this signal.
  void child_stopped(pid_t child, int signal);

 private:
  bool is_wanted_ = false, is_lent_ = false;
  int stops_ = 0;  // after a stop the terminal is whose the shell says
};

}  // namespace vramfit::base

#endif
