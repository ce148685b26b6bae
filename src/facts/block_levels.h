// The module tree, cut into disjoint blocks at several depths.
//
//   modules seen          level 1          level 2
//   backbone              backbone         backbone.0
//   backbone.0            head             backbone.1
//   backbone.1                             head
//   head
//
// Each level covers the model once, so that the savings of its blocks may be added.
#ifndef VRAMFIT_FACTS_BLOCK_LEVELS_H
#define VRAMFIT_FACTS_BLOCK_LEVELS_H

#include <vector>

#include "model/job.h"

namespace vramfit::facts {

// `modules` in the order in which they ran, at any depth, without the root itself. A module is split where its parts
// hold at least half of what it saved; containers that never ran themselves are not in the list and so never a block.
std::vector<model::BlockLevel> build_levels(const std::vector<model::ModuleBlock>& modules);

}  // namespace vramfit::facts

#endif
