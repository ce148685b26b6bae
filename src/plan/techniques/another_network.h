// What techniques that train another network have in common: each is run with plenty of memory, and what it needed
// there is what is foreseen.
#ifndef VRAMFIT_PLAN_TECHNIQUES_ANOTHER_NETWORK_H
#define VRAMFIT_PLAN_TECHNIQUES_ANOTHER_NETWORK_H

#include <algorithm>
#include <vector>

#include "plan/measured_shares.h"
#include "plan/technique.h"

namespace vramfit::plan {

// Scales each owner by what a run with the other network held of what the script's own did.
inline void scale_to(const model::Holdings& with, const model::Holdings& without, model::Holdings& holdings) {
  for (auto field : {&model::Holdings::weights, &model::Holdings::buffers, &model::Holdings::optimizer,
                     &model::Holdings::inputs, &model::Holdings::activations, &model::Holdings::workspaces,
                     &model::Holdings::temporaries, &model::Holdings::gathered}) {
    holdings.*field = scaled(holdings.*field, share_of(with.*field, without.*field));
  }
}

inline Bytes most_gradients(const std::vector<model::StagePeak>& moments) {
  Bytes most;
  for (const model::StagePeak& moment : moments) most = std::max(most, moment.holdings.gradients);
  return most;
}

inline Bytes most_of(const std::vector<model::StagePeak>& moments) {
  Bytes most;
  for (const model::StagePeak& moment : moments) most = std::max(most, model::sum(moment.holdings));
  return most;
}

// Leaves, once some of these were run, those that were, and that need less than those before them.
inline std::vector<model::Change> leave_what_needs_less(const model::Job& job, std::vector<model::Change> all) {
  const bool was_any_run = std::ranges::any_of(
      all, [&](const model::Change& change) { return job.measured.contains(measured_key(change)); });
  if (!was_any_run) return all;
  Bytes before = most_of(job.stage_peaks);
  std::erase_if(all, [&](const model::Change& change) {
    const auto measured = job.measured.find(measured_key(change));
    if (measured == job.measured.end() || most_of(measured->second) >= before) return true;
    before = most_of(measured->second);
    return false;
  });
  return all;
}

// False where it was not run.
inline bool foretell_by_its_run(const model::Job& job, const model::Change& change, Forecast& forecast) {
  const auto measured = job.measured.find(measured_key(change));
  if (measured == job.measured.end()) return false;
  for (model::StagePeak& moment : forecast.stage_peaks) {
    const model::StagePeak* before = find_same_stage(job.stage_peaks, moment);
    const model::StagePeak* after = find_same_stage(measured->second, moment);
    if (before != nullptr && after != nullptr) scale_to(after->holdings, before->holdings, moment.holdings);
  }
  forecast.parameter_share *= share_of(most_gradients(measured->second), most_gradients(job.stage_peaks));
  if (const auto work = job.measured_work.find(measured->first); work != job.measured_work.end()) {
    scale_work_to(work->second, job.work, forecast.work);
  }
  forecast.measured_with = measured->first;
  forecast.uncertainty = std::max(forecast.uncertainty, 0.04);
  return true;
}

}  // namespace vramfit::plan

#endif
