// The use case behind `vramfit sweep`: trials, each in a process of its own, until the question is answered.
#ifndef VRAMFIT_SWEEP_SWEEP_H
#define VRAMFIT_SWEEP_SWEEP_H

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/progress.h"
#include "model/sweep.h"
#include "sweep/files.h"

namespace vramfit::sweep {

// Where trials run: here (local.h) or on a cluster (slurm.h).
class TrialRunner {
 public:
  virtual ~TrialRunner() = default;
  virtual std::size_t room() const = 0;  // how many more may be started now
  virtual base::Result<void> start(const std::vector<std::size_t>& trials) = 0;
  // Waits up to a moment; returns the trials that have ended since the last call, with or without a result.
  virtual base::Result<std::vector<std::size_t>> wait() = 0;
  virtual void cancel() = 0;  // ends all that run
};

// The known results that are not taken over: trials that ended so are run again. "all" is every one.
using Retry = std::vector<std::string>;
inline const Retry kUsualRetry = {"failed", "timed_out"};

// Called when a trial has ended, and when it was taken over from an earlier sweep.
using OnTrial = std::function<void(const model::Trial& trial, bool was_known)>;

// Runs what is not there yet, and again what failed for another reason than memory or took too long (`retry`). Ctrl-C
// cancels what runs and returns what was done: the folder can be taken up again.
base::Result<model::SweepResult> sweep(const model::SweepSpec& spec, const SweepFolder& folder, TrialRunner& runner,
                                       const OnTrial& on_trial, base::ProgressSink& progress, const base::Clock& clock,
                                       const Retry& retry = kUsualRetry);

}  // namespace vramfit::sweep

#endif
