// What comes back from host memory in a backward, as often and as long as the run with activations there showed.
//
//   saved by a pool and a relu    forward |--b--|        backward   |b|grad|   ...   |b|grad|     a copy for each
//
// Which operators saved a block, the blocks alone do not tell: it dies with the last of them.
#ifndef VRAMFIT_PLAN_STREAM_RETURNS_H
#define VRAMFIT_PLAN_STREAM_RETURNS_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/allocation_stream.h"
#include "plan/stream/reshape.h"

namespace vramfit::plan {

inline constexpr std::int64_t kLeastOffloaded = 1 << 20;  // python/vramfit/apply/offload_activations.py

// The last birth in a pass' forward inside of a module. The root has no name: what is of no module is its own until
// then, and afterwards the script's.
model::StreamTime find_last_in_root(const model::AllocationStream& stream, const model::StreamPass& pass);

// Whether a block is what a forward saved for its backward and nobody else holds; `last_in_root` is that of the pass.
// A batch that the script keeps a name for goes later.
bool is_saved(const model::StreamBlock& block, const model::StreamPass& pass, model::StreamTime last_in_root);

// A copy that is there for one operator.
struct ReturnedCopy {
  std::size_t block = 0;  // of the stream that is to be changed
  PlayTime born = 0, died = 0;
};

// The copies of `stream`, which may be that of another change or the job's own, in its pass of this number, learnt from
// what `offloaded` has more than `own` in its backward; empty where the streams have too little in common.
std::vector<ReturnedCopy> find_returns(const model::AllocationStream& stream, const model::AllocationStream& own,
                                       const model::AllocationStream& offloaded, std::size_t number);

}  // namespace vramfit::plan

#endif
