// Evaluations that ran with gradients on -> as under no_grad: nothing waits for a backward that never comes.
#ifndef VRAMFIT_PLAN_STREAM_WITHOUT_GRAPH_H
#define VRAMFIT_PLAN_STREAM_WITHOUT_GRAPH_H

#include <vector>

#include "plan/stream/reshape.h"

namespace vramfit::plan {

// `shown`: a run under no_grad, which shows when a block was needed last; null: a block goes with the module around it.
// What no module made may be the graph's or the script's, and nothing tells which: `unknown_end` says what becomes of
// it.
void drop_graphs_of_evaluations(const model::AllocationStream& stream, const model::AllocationStream* shown,
                                UnknownEnd unknown_end, std::vector<Life>& lives);

}  // namespace vramfit::plan

#endif
