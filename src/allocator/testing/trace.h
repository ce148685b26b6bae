// A snapshot's trace, written entry by entry.
#ifndef VRAMFIT_ALLOCATOR_TESTING_TRACE_H
#define VRAMFIT_ALLOCATOR_TESTING_TRACE_H

#include "model/snapshot.h"

namespace vramfit::allocator {

inline void add(model::Snapshot& snapshot, model::TraceAction action, std::uint64_t address, std::int64_t size) {
  model::TraceEntry entry;
  entry.action = action;
  entry.addr = address;
  entry.size = size;
  if (snapshot.traces.empty()) snapshot.traces.emplace_back();
  snapshot.traces[0].push_back(entry);
}

}  // namespace vramfit::allocator

#endif
