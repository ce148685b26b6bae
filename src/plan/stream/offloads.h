// Lives of blocks when activations wait in host memory.
#ifndef VRAMFIT_PLAN_STREAM_OFFLOADS_H
#define VRAMFIT_PLAN_STREAM_OFFLOADS_H

#include <cstdint>
#include <vector>

#include "plan/stream/reshape.h"

namespace vramfit::plan {

// What a forward of the model keeps for its backward, one tensor large enough to be worth the way.
// `lives`: one a block of the stream, in its order; those that come back are added behind.
// `logits`: bytes of the logits of a loss in chunks, which keeps them where they are; 0: there is none.
void offload_saved(const model::AllocationStream& stream, std::int64_t logits, std::vector<Life>& lives);

}  // namespace vramfit::plan

#endif
