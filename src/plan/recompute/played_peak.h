// What a training step holds at most with modules run again, by its own blocks: beside the model of step_peak.h, which
// knows what modules save, and not who else holds it.
#ifndef VRAMFIT_PLAN_RECOMPUTE_PLAYED_PEAK_H
#define VRAMFIT_PLAN_RECOMPUTE_PLAYED_PEAK_H

#include <optional>
#include <string>
#include <vector>

#include "model/job.h"
#include "plan/recompute/repeat_sets.h"

namespace vramfit::plan {

class PlayedPeak {
 public:
  explicit PlayedPeak(const model::Job& job);

  // Bytes allocated at the most in the last step. Nothing where the job's stream does not show one of the modules.
  std::optional<Bytes> with(const std::vector<std::string>& modules, Kept kept) const;

 private:
  model::AllocationStream stream_;  // no block in it: the job has none
};

// The set without modules that bring nothing there: conv1, bn1 and maxpool of a ResNet hand each other what they save,
// so each alone frees nothing. Taken out one by one, in their order.
RepeatSet without_idle_as_played(const PlayedPeak& played, RepeatSet set);

}  // namespace vramfit::plan

#endif
