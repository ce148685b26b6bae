// What a change makes of the memory that a moment holds: measured by a run with plenty (Technique::find_measurable).
#ifndef VRAMFIT_PLAN_MEASURED_SHARES_H
#define VRAMFIT_PLAN_MEASURED_SHARES_H

#include <string>
#include <string_view>
#include <vector>

#include "model/job.h"
#include "model/plan.h"

namespace vramfit::plan {

// The moment of that phase and stage; null: there is none.
const model::StagePeak* find_same_stage(const std::vector<model::StagePeak>& moments, const model::StagePeak& moment);

// The key under which a change's run is kept (Job::measured): its technique, and what of several runs of one this is.
std::string measured_key(const model::Change& change);
bool is_measured_by(std::string_view key, std::string_view technique);

// 1 where there was nothing.
double share_of(base::Bytes with, base::Bytes without);

// Scales work by what a step of a change's own run asks of the card, against what it asked without.
void scale_work_to(const model::StepWork& with, const model::StepWork& without, model::StepWork& work);

// Results that an evaluation gathers with their graphs shrink as activations do; others are as the script has them.
void scale_gathered_graphs(const model::Job& job, double share, model::Holdings& holdings);

}  // namespace vramfit::plan

#endif
