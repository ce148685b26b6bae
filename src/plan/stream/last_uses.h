// When a forward needs a block last, where nothing is kept for a backward: as evaluations of the same network show it,
// or its steps with activations in host memory.
#ifndef VRAMFIT_PLAN_STREAM_LAST_USES_H
#define VRAMFIT_PLAN_STREAM_LAST_USES_H

#include <cstddef>
#include <vector>

#include "plan/stream/reshape.h"

namespace vramfit::plan {

// Other runs of the job, each null where it was not made.
struct WitnessRuns {
  const model::AllocationStream* without_graph = nullptr;  // its evaluations kept no graph
  const model::AllocationStream* offloaded = nullptr;      // its steps saved nothing on the card
};

// The moment, for each block of the stream, after which the forward of `pass` has no more use for it. 0: nothing shows
// it. Blocks of a module's forward are known by their order and by their size, which is another one in the witness by
// the same factor for all. A witness is an evaluation without a graph, of the stream or of another run; where there is
// none, a step whose activations wait in host memory: what is saved is copied at once, so that it goes as soon as the
// forward has no more use for it, and what is too small to be copied tells nothing. `is_of_step` tells that it was one:
// such a step makes the same blocks, where an evaluation lacks some (dropout's), so that another of their size may have
// been taken for one.
std::vector<PlayTime> find_last_uses(const model::AllocationStream& stream, const model::StreamPass& pass,
                                     const WitnessRuns& runs, bool* is_of_step = nullptr);

// The same of a forward of an evaluation that kept its graph, blocks [from, to). 0 also where the script has the block.
std::vector<PlayTime> find_last_uses(const model::AllocationStream& stream, std::size_t from, std::size_t to,
                                     const model::AllocationStream& without_graph);

}  // namespace vramfit::plan

#endif
