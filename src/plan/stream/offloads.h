// Lives of blocks when activations wait in host memory.
#ifndef VRAMFIT_PLAN_STREAM_OFFLOADS_H
#define VRAMFIT_PLAN_STREAM_OFFLOADS_H

#include <vector>

#include "plan/stream/reshape.h"

namespace vramfit::plan {

// A tensor that a forward of the model keeps for its backward, one tensor large enough to be worth the way. `lives`:
// one a block of the stream, in its order; those that come back are added behind. Logits of a loss in chunks stay where
// they are.
void offload_saved(const model::AllocationStream& stream, const Reshaping& reshaping, std::vector<Life>& lives);

}  // namespace vramfit::plan

#endif
