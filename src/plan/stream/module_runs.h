// When modules ran in one forward: once, or as often as they were called.
//
//   a . b . a . b . a . b     a and b run three times: each letter of a text, each step of a recurrence
//   a . a' . x . a'' .        a runs once: what it calls in between is registered elsewhere
//
// Which of the two it is, the stream says (StreamModule::blocks_of_call, facts/module_calls.h).
#ifndef VRAMFIT_PLAN_STREAM_MODULE_RUNS_H
#define VRAMFIT_PLAN_STREAM_MODULE_RUNS_H

#include <cstddef>
#include <vector>

#include "model/allocation_stream.h"

namespace vramfit::plan {

// One run: from its first block to one past its last, by their places in the stream. Blocks of others may be between.
struct ModuleRun {
  std::size_t from = 0, to = 0;
  bool operator==(const ModuleRun&) const = default;
};

// The runs of each module, in their order; none of what allocates nothing between the two places.
std::vector<std::vector<ModuleRun>> find_module_runs(const model::AllocationStream& stream, std::size_t from,
                                                     std::size_t to);

}  // namespace vramfit::plan

#endif
