// What a model would no longer need without one way into a join, or without one of its outputs.
//
//   stem -> a1 -> a2 -> add -> head        Cut a2 -> add: a2 and a1 lead nowhere any more, so they are one branch.
//        \---- b1 ----/                    Cut b1 -> add: b1 is the other. Cut stem -> a1: not at a join.
#ifndef VRAMFIT_LIVENESS_MODULE_BRANCHES_H
#define VRAMFIT_LIVENESS_MODULE_BRANCHES_H

#include <span>
#include <vector>

#include "liveness/module_graph.h"
#include "model/modules.h"

namespace vramfit::liveness {

// `rows` are the model's, in the order of its list. `evaluated`: by module, whether any evaluation called it; empty:
// none was seen.
std::vector<model::Branch> find_branches(const ModuleGraph& graph, const ListedModel& model,
                                         std::span<const model::ModuleRow> rows, const std::vector<bool>& evaluated);

}  // namespace vramfit::liveness

#endif
