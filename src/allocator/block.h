// What the simulator is made of: blocks in segments, pools with one free list for each stream.
//
//   segment (cudaMalloc)      [ block | block | block ]          prev/next link neighbours; nothing links two segments
//   expandable segment        [ block | free | unmapped ........ ]   one reserved range, pages mapped as needed
#ifndef VRAMFIT_ALLOCATOR_BLOCK_H
#define VRAMFIT_ALLOCATOR_BLOCK_H

#include <compare>
#include <cstdint>
#include <vector>

#include "allocator/device.h"
#include "allocator/free_list.h"
#include "allocator/statistics.h"

namespace vramfit::allocator {

inline constexpr std::uint32_t kNone = UINT32_MAX;

struct Block {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t requested = 0;  // by the last one who had it
  std::uint64_t serial = 0;     // registration_counter: which Block object of PyTorch's this is
  std::uint32_t previous = kNone;
  std::uint32_t next = kNone;
  std::uint32_t list = kNone;          // the pool and stream it belongs to; kNone: not in use
  std::uint32_t expandable = kNone;    // its expandable segment
  std::uint32_t tag = 0;               // the caller's, kept after the free
  std::uint32_t event_count : 29 = 0;  // outstanding events of other streams
  bool is_allocated : 1 = false;
  bool is_mapped : 1 = true;
  bool has_uses : 1 = false;    // record_stream by another stream: see Simulator::uses_
  union {                       // it lies in a free list, or waits for events, or neither
    std::int64_t age_base = 0;  // searches of the pool when it was put into its free list
    std::uint64_t first_event;  // of those it waits for
  };

  bool is_split() const { return (previous & next) != kNone; }
  bool is_in_use() const { return is_allocated || event_count != 0 || has_uses; }  // or waits for those who use it
};
static_assert(sizeof(Block) == 64, "one line of the cache");

struct StreamList {
  StreamHandle stream = 0;
  std::uint32_t pool = kNone;
  FreeList free;
  std::vector<BlockId> unmapped;  // by address
};

struct Pool {
  PoolKind kind = PoolKind::kSmall;
  std::uint32_t owner = kNone;       // its private pool
  std::int64_t searches = 0;         // get_free_blocks_call_count: counted while garbage is collected
  std::vector<std::uint32_t> lists;  // by stream handle
  StreamHandle last_stream = 0;      // the one that asked last, and its list
  std::uint32_t last_list = kNone;
};

struct PrivatePool {
  PoolId id;
  int use_count = 1;
  int device_allocations = 0;  // cudaMalloc_count
  std::uint32_t small = kNone;
  std::uint32_t large = kNone;
  bool is_freeable = false;  // no longer in use: may give its segments back
  bool is_erased = false;
  bool has_own_allocator = false;
  bool is_no_split = false;
  bool is_last_resort = false;  // use_on_oom
};

struct ExpandableSegment {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t page_bytes = 0;
  bool is_live = false;
};

}  // namespace vramfit::allocator

#endif
