// When a forward needs a block last, where nothing is kept for a backward: as evaluations of the same network show it.
#ifndef VRAMFIT_PLAN_STREAM_LAST_USES_H
#define VRAMFIT_PLAN_STREAM_LAST_USES_H

#include <cstddef>
#include <vector>

#include "plan/stream/reshape.h"

namespace vramfit::plan {

// The moment, for each block of the stream, after which the forward of `pass` has no more use for it. 0: nothing shows
// it. Blocks of a module's forward are known in an evaluation without a graph by their order and by their size, which
// is another one there by the same factor for all.
// `without_graph`: another run, which is asked where no evaluation of the stream itself shows anything; null: none is.
std::vector<PlayTime> find_last_uses(const model::AllocationStream& stream, const model::StreamPass& pass,
                                     const model::AllocationStream* without_graph);

// The same of a forward of an evaluation that kept its graph, blocks [from, to). 0 also where the script has the block.
std::vector<PlayTime> find_last_uses(const model::AllocationStream& stream, std::size_t from, std::size_t to,
                                     const model::AllocationStream& without_graph);

}  // namespace vramfit::plan

#endif
