// What PyTorch's allocator told its profiler of one card's blocks, in its order, and which of them are workspaces.
#ifndef VRAMFIT_FACTS_BLOCK_EVENTS_H
#define VRAMFIT_FACTS_BLOCK_EVENTS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "facts/run_facts.h"

namespace vramfit::facts {

struct BlockEvent {
  std::int64_t bytes = 0;  // rounded as the allocator rounds; below zero: freed
  std::uint64_t address = 0;
  std::int64_t allocated = 0, reserved = 0;  // after it
  std::string_view line;                     // the script's, in the facts' own text
  bool is_workspace = false;                 // a convolution's, that the virtual cuDNN had just asked for
};

using BlockEvents = std::vector<BlockEvent>;

// One list a process; the lines live as long as the facts.
std::vector<BlockEvents> block_events(const RunFacts& facts, int device);

// Sizes of workspaces that marked runs have (RunRequest::mark_workspaces), with the layer each stands for; empty for a
// size that stands for two.
std::unordered_map<std::int64_t, std::string> workspace_marks(const RunFacts& facts);

}  // namespace vramfit::facts

#endif
