// What becomes of a moment's holdings by a change that was run with plenty of memory (Technique::find_measurable).
#ifndef VRAMFIT_PLAN_MEASURED_SHARES_H
#define VRAMFIT_PLAN_MEASURED_SHARES_H

#include <vector>

#include "model/job.h"

namespace vramfit::plan {

// The moment of that phase and stage; null: there is none.
const model::StagePeak* find_same_moment(const std::vector<model::StagePeak>& moments, const model::StagePeak& moment);

// 1 where there was nothing.
double share_of(base::Bytes with, base::Bytes without);

}  // namespace vramfit::plan

#endif
