// Whether a plan makes sense before a job is started with it: against the one schema of plans (model/plan_schema.h).
#ifndef VRAMFIT_PLAN_PLAN_CHECK_H
#define VRAMFIT_PLAN_PLAN_CHECK_H

#include <span>
#include <string_view>

#include "base/error.h"
#include "model/plan.h"
#include "model/plan_schema.h"

namespace vramfit::plan {

// The error says which technique and setting of the file `name`, what it may be, and what was meant, if something known
// is near. Names of modules and numbers of loaders can only be checked when the job has made them: python/vramfit/apply
// does, before the first optimizer step.
base::Result<void> check_plan(const model::Plan& plan, std::string_view name,
                              std::span<const model::TechniqueSchema> schema = model::plan_schema());

}  // namespace vramfit::plan

#endif
