// Lives of blocks when modules are run again before their backward (torch.utils.checkpoint).
#ifndef VRAMFIT_PLAN_STREAM_REPEATS_H
#define VRAMFIT_PLAN_STREAM_REPEATS_H

#include <vector>

#include "plan/stream/reshape.h"

namespace vramfit::plan {

// `lives`: one a block of the stream, in its order; those made anew are added behind. Modules within modules are run
// again within their second run.
void repeat_modules(const model::AllocationStream& stream, const Reshaping& reshaping, std::vector<Life>& lives);

}  // namespace vramfit::plan

#endif
