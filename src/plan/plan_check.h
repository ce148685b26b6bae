// Whether a plan makes sense before a job is started with it: what python/vramfit/apply knows to apply, and no other.
#ifndef VRAMFIT_PLAN_PLAN_CHECK_H
#define VRAMFIT_PLAN_PLAN_CHECK_H

#include <string_view>

#include "base/error.h"
#include "model/plan.h"

namespace vramfit::plan {

// The error says which technique and setting of the file `name`, and what it may be. Names of modules can only be
// checked when the job has made its model: python/vramfit/apply does, before the first optimizer step.
base::Result<void> check_plan(const model::Plan& plan, std::string_view name);

}  // namespace vramfit::plan

#endif
