// Lives of blocks when modules are run again before their backward (torch.utils.checkpoint).
#ifndef VRAMFIT_PLAN_STREAM_REPEATS_H
#define VRAMFIT_PLAN_STREAM_REPEATS_H

#include <span>
#include <vector>

#include "plan/stream/reshape.h"

namespace vramfit::plan {

// `lives`: one a block of the stream, in its order; those made anew are added behind. Modules within modules are run
// again within their second run.
// `keeps_products`: results of products of matrices and of convolutions in them stay until then.
void repeat_modules(const model::AllocationStream& stream, std::span<const std::int32_t> modules, bool keeps_products,
                    std::vector<Life>& lives);

}  // namespace vramfit::plan

#endif
