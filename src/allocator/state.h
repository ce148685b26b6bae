// What the allocator holds, as torch.cuda.memory_snapshot() shows it.
#ifndef VRAMFIT_ALLOCATOR_STATE_H
#define VRAMFIT_ALLOCATOR_STATE_H

#include <cstdint>
#include <vector>

#include "allocator/block.h"

namespace vramfit::allocator {

enum class BlockState : std::uint8_t { kInactive, kActivePendingFree, kActiveAllocated };

struct StateBlock {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t requested = 0;
  BlockState state = BlockState::kInactive;
  std::uint32_t tag = 0;
  friend bool operator==(const StateBlock&, const StateBlock&) = default;
};

// A segment; of an expandable one, a contiguous run of mapped pages.
struct StateSegment {
  std::uint64_t address = 0;
  std::uint64_t total = 0;
  std::uint64_t allocated = 0;
  std::uint64_t active = 0;
  std::uint64_t requested = 0;  // of active blocks
  StreamHandle stream = 0;
  PoolKind kind = PoolKind::kSmall;
  PoolId pool;
  bool is_expandable = false;
  std::vector<StateBlock> blocks;
  friend bool operator==(const StateSegment&, const StateSegment&) = default;
};

struct AllocatorState {
  std::vector<StateSegment> segments;  // by address
  friend bool operator==(const AllocatorState&, const AllocatorState&) = default;
};

}  // namespace vramfit::allocator

#endif
