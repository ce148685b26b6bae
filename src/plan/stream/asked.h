// What was asked of PyTorch's allocator for each block, which may have been given more.
#ifndef VRAMFIT_PLAN_STREAM_ASKED_H
#define VRAMFIT_PLAN_STREAM_ASKED_H

#include <cstdint>
#include <vector>

#include "model/allocation_stream.h"

namespace vramfit::plan {

// By block of the stream. Of a large block up to 1 MiB is not split off, and which blocks those are differs from step
// to step: the same tensor's smallest block is nearest to what was asked. Tensors are the same in passes that have as
// many of their module, stage and owner.
std::vector<std::int64_t> find_asked(const model::AllocationStream& stream);

}  // namespace vramfit::plan

#endif
