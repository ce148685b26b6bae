// What techniques that work on a batch in parts share, and those that run a forward again.
#ifndef VRAMFIT_PLAN_TECHNIQUES_PARTS_OF_BATCH_H
#define VRAMFIT_PLAN_TECHNIQUES_PARTS_OF_BATCH_H

#include <algorithm>
#include <string_view>

#include "model/number_text.h"
#include "plan/forecast.h"

namespace vramfit::plan {

// Forward, and the two products of backward (for inputs and for weights): forward is a third of a step.
inline constexpr double kForwardShare = 1.0 / 3;
// For each part beyond the first, the weights are read and the gradients read and written once more.
inline constexpr double kParameterPassesPerPart = 4;

// A share of the forward once more, of its multiplications and of the bytes that it passes over.
inline void repeat_forward(double share_of_macs, double share_of_bytes, Forecast& forecast) {
  model::StepWork& work = forecast.work;
  for (double& of_type : work.macs) of_type *= 1 + kForwardShare * share_of_macs;
  work.recomputed_macs += total_macs(work) * kForwardShare * share_of_macs / (1 + kForwardShare * share_of_macs);
  work.matmul_bytes *= 1 + kForwardShare * share_of_macs;
  work.other_bytes *= 1 + kForwardShare * share_of_bytes;
  work.launches += (work.launches - work.optimizer_launches) * kForwardShare * share_of_bytes;
}

// Activations of one part at a time; from the second part on, all gradients are alive at every moment of the step.
inline void split_batch(const model::Job& job, double parts, Forecast& forecast) {
  scale_batch(forecast, model::phase::kTrain, 1 / parts);
  forecast.accumulates = true;
  for (model::StagePeak& moment : forecast.stage_peaks) {
    if (moment.phase != model::phase::kTrain) continue;
    moment.holdings.gradients = std::max(moment.holdings.gradients, job.parameter_bytes);
  }
  forecast.passes *= parts;
  model::StepWork& work = forecast.work;
  work.launches += (work.launches - work.optimizer_launches) * (parts - 1);
  work.pieces *= parts;
  work.other_bytes += static_cast<double>(job.parameter_bytes.count()) * kParameterPassesPerPart * (parts - 1);
}

}  // namespace vramfit::plan

#endif
