// What would make the job smaller and takes an edit of the script or another allocator, in sentences with this job's
// own figures: nothing of it is applied or proven.
#ifndef VRAMFIT_PLAN_ADVICE_H
#define VRAMFIT_PLAN_ADVICE_H

#include <string>
#include <vector>

#include "model/modules.h"
#include "plan/technique.h"

namespace vramfit::plan {

// `modules`: of a run that watched them (run --modules); null where there was none.
std::vector<std::string> find_advice(const model::Job& job, const Target& target, const model::ModuleTable* modules);

}  // namespace vramfit::plan

#endif
