// What a memory snapshot says lay where: when it was taken, and, with its trace undone, when that trace began.
#ifndef VRAMFIT_ALLOCATOR_RECORDED_STATE_H
#define VRAMFIT_ALLOCATOR_RECORDED_STATE_H

#include <cstdint>
#include <vector>

#include "allocator/device.h"
#include "allocator/settings.h"
#include "allocator/state.h"
#include "model/snapshot.h"

namespace vramfit::allocator {

inline constexpr std::uint32_t kNotTraced = UINT32_MAX;

// One tenant of memory, from its allocation to its free.
struct ReplaySlot {
  model::StackId stack = model::StackId::kNone;
  std::uint32_t entry = kNotTraced;  // of the trace; kNotTraced: it lived before
  std::uint64_t bytes = 0;           // requested
};

PoolId pool_of(const model::PoolId& pool);

// The snapshot's segments on one device as the simulator sees them; tags are stack ids.
AllocatorState state_of(const model::Snapshot& snapshot, int device);

// What lay there when the trace began: the final state with the trace undone.
struct Before {
  AllocatorState state;                // tags are slots
  std::vector<ReplaySlot> slots;       // of what lived
  std::int64_t unmatched_entries = 0;  // that don't fit what comes after them
};
// With `from`, only the entries from that one on are undone, which gives the state just before it.
Before state_before(const model::Snapshot& snapshot, int device, const Settings& own, std::size_t from = 0);

}  // namespace vramfit::allocator

#endif
