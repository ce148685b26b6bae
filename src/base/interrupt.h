// Ctrl-C and its kin, remembered instead of obeyed, so that whoever waits can pass them on and clean up.
#ifndef VRAMFIT_BASE_INTERRUPT_H
#define VRAMFIT_BASE_INTERRUPT_H

#include <csignal>

namespace vramfit::base {

// While one lives, SIGINT, SIGTERM, SIGHUP and SIGQUIT are only counted, SIGTTOU is ignored, and SIGTSTP
// stops our jobs with us (job_control.h). They nest.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  struct sigaction before_[6];
};

// The last signal that came within an InterruptScope and was not taken yet; 0 for none.
int take_interrupt();
// Whether any came since the outermost scope began.
bool was_interrupted();

}  // namespace vramfit::base

#endif
