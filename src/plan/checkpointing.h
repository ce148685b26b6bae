// What checkpointing a set of blocks frees, and which sets are worth trying.
//
// A checkpointed block keeps its output only and is run again when backward reaches it:
//
//   forward end    b1 saved | b2 out | b3 out | b4 saved        b2 and b3 checkpointed
//   backward at b3 b1 saved | b2 out | b3 saved                 b4 is gone, b3 has been run again
//
// so the peak is the largest, over all blocks, of what the blocks before it keep plus its own saved activations.
#ifndef VRAMFIT_PLAN_CHECKPOINTING_H
#define VRAMFIT_PLAN_CHECKPOINTING_H

#include <span>
#include <string>
#include <vector>

#include "model/job.h"

namespace vramfit::plan {

using base::Bytes;

// The peak of the blocks' activations through one step, with the named ones checkpointed.
Bytes activation_peak(std::span<const model::ModuleBlock> blocks, std::span<const std::string> checkpointed);

// The level at which every name is a block; null when there is none.
const model::BlockLevel* find_level(const model::Job& job, std::span<const std::string> names);

// Activations freed at the peak by checkpointing these modules; 0 when they are not blocks of one level.
Bytes bytes_freed(const model::Job& job, std::span<const std::string> names);

// The names of blocks worth checkpointing, those that free most for the work repeated first.
std::vector<std::string> order_by_worth(const model::BlockLevel& level);

// How many of n blocks to take, in growing order: 1, 2, 4 ..., the square root of n, all but so many, and all.
std::vector<std::size_t> growing_sizes(std::size_t blocks);

// The first so many names, for each size: nested sets.
std::vector<std::vector<std::string>> growing_sets(const model::BlockLevel& level);

}  // namespace vramfit::plan

#endif
