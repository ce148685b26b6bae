// The cause in the script itself that makes it run out of memory, where that was seen.
#ifndef VRAMFIT_PLAN_CAUSE_H
#define VRAMFIT_PLAN_CAUSE_H

#include <optional>

#include "model/fit_result.h"
#include "model/job.h"

namespace vramfit::plan {

// Nothing when the job does not run out by a fault of its own, as far as is known. `limit` is that of its card.
std::optional<model::ScriptCause> find_cause(const model::Job& job, base::Bytes limit);

}  // namespace vramfit::plan

#endif
