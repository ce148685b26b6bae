#ifndef VRAMFIT_FACTS_ALLOCATION_STREAM_H
#define VRAMFIT_FACTS_ALLOCATION_STREAM_H

#include <memory>
#include <string>

#include "facts/run_facts.h"
#include "model/allocation_stream.h"

namespace vramfit::facts {

// Null where nothing was allocated there, several processes share the card (each has an allocator of its own), or there
// is too much to play.
std::shared_ptr<const model::AllocationStream> find_allocation_stream(const RunFacts& facts, int device,
                                                                      const std::string& torch_version);

}  // namespace vramfit::facts

#endif
