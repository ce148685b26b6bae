// Which live blocks keep free memory from going back or being joined, and whose they are.
//
//   segment 64 MiB   [ free 20 | A 1 | free 30 | A 1 | free 12 ]      A alone pins 62 MiB: freeing 2 MiB gives back 64
//   segment 20 MiB   [ B 4 | free 16 ]                                B alone pins 16 MiB
#ifndef VRAMFIT_ALLOCATOR_ATTRIBUTION_H
#define VRAMFIT_ALLOCATOR_ATTRIBUTION_H

#include <cstdint>
#include <functional>
#include <vector>

#include "allocator/settings.h"
#include "allocator/state.h"

namespace vramfit::allocator {

// Whom a block belongs to: what tags mean is the caller's affair (slots, stacks), and so is what it makes of them.
using OwnerId = std::uint64_t;
using OwnerOf = std::function<OwnerId(const StateBlock&)>;

struct PinnedSegment {
  std::uint64_t address = 0;
  std::uint64_t total = 0;
  std::uint64_t free = 0;          // bytes in holes
  std::uint64_t largest_hole = 0;  // one request can have at most this
  std::uint64_t live = 0;
  std::int64_t live_blocks = 0;
  PoolKind kind = PoolKind::kSmall;
  PoolId pool;
  StreamHandle stream = 0;
  bool is_expandable = false;
  std::vector<OwnerId> owners;  // each once, the one with the most bytes first
};

struct PinningOwner {
  OwnerId owner = 0;
  std::uint64_t pinned_alone = 0;   // free bytes in segments that hold nobody else's blocks
  std::uint64_t pinned_shared = 0;  // free bytes in segments that others hold open too
  std::uint64_t live = 0;           // its own bytes in all those segments
  std::int64_t blocks = 0;
  std::int64_t segments = 0;
};

struct Attribution {
  std::uint64_t reserved = 0;
  std::uint64_t live = 0;
  std::uint64_t free = 0;               // reserved and not in use
  std::uint64_t returnable = 0;         // of it: whole segments and whole pages, which empty_cache() gives back
  std::uint64_t pinned = 0;             // of it: the rest, held by live blocks
  std::uint64_t in_pools = 0;           // of what is free: in private pools, which keep theirs
  std::uint64_t largest_hole = 0;       // of what is free
  std::vector<PinnedSegment> segments;  // with pinned bytes, the most first
  std::vector<PinningOwner> owners;     // the most pinned alone first
};

Attribution attribute(const AllocatorState& state, const Settings& settings, const OwnerOf& owner_of);

}  // namespace vramfit::allocator

#endif
