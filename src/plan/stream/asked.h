// What was asked of PyTorch's allocator for each block, which may have been given more.
#ifndef VRAMFIT_PLAN_STREAM_ASKED_H
#define VRAMFIT_PLAN_STREAM_ASKED_H

#include <cstdint>
#include <vector>

#include "model/allocation_stream.h"

namespace vramfit::plan {

// How many bytes were asked for, for each block of the stream. A block may be up to 1 MiB larger than what was asked,
// and which blocks are differs from step to step. So the smallest block that the same tensor had in any step is taken.
// Tensors are taken for the same in steps that make equally many of them in one module and stage, for one owner.
std::vector<std::int64_t> find_asked(const model::AllocationStream& stream);

}  // namespace vramfit::plan

#endif
