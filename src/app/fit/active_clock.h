// The clock of a search, which leaves out the time for which its runs waited because other programs had the processors,
// and a runner that tells it: on a loaded machine a search takes longer, and its answer is the same.
#ifndef VRAMFIT_APP_FIT_ACTIVE_CLOCK_H
#define VRAMFIT_APP_FIT_ACTIVE_CLOCK_H

#include "base/clock.h"
#include "job/run.h"

namespace vramfit::app {

class ActiveClock final : public base::Clock {
 public:
  explicit ActiveClock(const base::Clock& clock) : clock_(clock) {}
  std::int64_t now_ns() const override { return clock_.now_ns() - waited_ns_; }
  double excluded_seconds() const { return static_cast<double>(waited_ns_) * 1e-9; }
  void exclude(double seconds) { waited_ns_ += static_cast<std::int64_t>(seconds * 1e9); }

 private:
  const base::Clock& clock_;
  std::int64_t waited_ns_ = 0;
};

// Reports to the clock how long each run waited for a processor, unless the user set a firm limit.
class WaitTrackingRunner final : public job::Runner {
 public:
  WaitTrackingRunner(job::Runner& runner, ActiveClock& clock, bool excludes_waits)
      : runner_(runner), clock_(clock), excludes_waits_(excludes_waits) {}

  base::Result<void> prepare(const job::RunRequest& request, base::ProgressSink& progress) override {
    return runner_.prepare(request, progress);
  }
  job::RunRequest start(job::RunRequest request) override { return runner_.start(std::move(request)); }
  base::Result<job::RunOutcome> run(const job::RunRequest& request, base::ProgressSink& progress) override {
    auto outcome = runner_.run(request, progress);
    if (outcome && excludes_waits_) clock_.exclude(outcome->result.waited_seconds);
    return outcome;
  }

 private:
  job::Runner& runner_;
  ActiveClock& clock_;
  const bool excludes_waits_;
};

}  // namespace vramfit::app

#endif
