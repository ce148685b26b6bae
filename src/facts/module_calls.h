// Which modules are called several times in one pass: for each letter of a text, for each step of a recurrence.
//
// What a module allocates stands together in the stream, until something else allocates. Where two such pieces leave as
// much each as the meter saw one call leave (python/vramfit/observe/job.py), they are two calls: of one call that
// something else interrupted, the pieces leave as much together. A piece that leaves a multiple is calls that came one
// right after the other.
#ifndef VRAMFIT_FACTS_MODULE_CALLS_H
#define VRAMFIT_FACTS_MODULE_CALLS_H

#include <cstdint>
#include <vector>

#include "model/allocation_stream.h"
#include "model/job.h"

namespace vramfit::facts {

// What was read of a module in one forward of the root, which a pass may have several of.
struct ModuleReading {
  base::Bytes saved;
  std::int64_t calls = 1;
};

// Sets blocks_of_call and, of those that are called several times, the output of a call. `readings`: by module.
void find_module_calls(const std::vector<ModuleReading>& readings, model::AllocationStream& stream);

// What the meter saw of one forward of the root, made what a step's calls hold, of blocks that are called several
// times.
void add_up_calls(const model::AllocationStream& stream, std::vector<model::BlockLevel>& levels);

}  // namespace vramfit::facts

#endif
