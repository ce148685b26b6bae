// What lay on a card at every instant of a trace: blocks with their lives, reserved ranges with theirs, and the sums.
//
//   address                     instant k: the state after the first k entries of the trace
//     ^  |---- A ----|
//     |       |B|   |C|-->      B and C may have one address; --> lives on when the trace ends
//     +--0--------------n-> instants
#ifndef VRAMFIT_VIEWS_TRACE_HISTORY_H
#define VRAMFIT_VIEWS_TRACE_HISTORY_H

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "allocator/block.h"
#include "model/snapshot.h"

namespace vramfit::views::report_trace {

using Instant = std::uint32_t;
inline constexpr Instant kNever = std::numeric_limits<Instant>::max();  // past the last instant

// One block, from its allocation until its memory is free again.
struct Tenant {
  std::uint64_t address = 0;
  std::uint64_t size = 0;       // of the block, as PyTorch rounds it
  std::uint64_t requested = 0;  // 0: not known
  Instant from = 0;             // 0: it lived before the trace
  Instant freed = kNever;       // asked to be free: until `to` it waits for other streams
  Instant to = kNever;
  model::StackId stack = model::StackId::kNone;
  std::uint32_t label = 0;  // node of History::labels
  std::uint32_t place = 0;
};

// A reserved range while it does not change. One that grows or shrinks has several lives in one place.
struct Range {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  Instant from = 0;
  Instant to = kNever;
  std::uint32_t place = 0;
  allocator::PoolKind kind = allocator::PoolKind::kSmall;
  allocator::PoolId pool;
  std::int64_t stream = 0;
  bool is_expandable = false;
};

// Phases and other words in force at an allocation: a tree, whose node 0 is "none".
struct Label {
  std::uint32_t parent = 0;
  std::string text;
};

struct OutOfMemory {
  Instant at = 0;  // the state it found
  std::int64_t tried = 0;
  std::int64_t device_free = 0;
  model::StackId stack = model::StackId::kNone;
};

struct History {
  std::vector<Tenant> tenants;
  std::vector<Range> ranges;
  std::vector<Label> labels{Label()};
  std::vector<OutOfMemory> ooms;
  // Bytes at each instant, from 0 to the number of entries.
  std::vector<std::int64_t> allocated;  // blocks that nobody has freed
  std::vector<std::int64_t> reserved;
  std::int64_t unmatched_entries = 0;  // that fit nothing: frees of what nobody allocated, and the like
  // Blocks in use of the final state, and how many of them the history ends with, at their address and size.
  std::int64_t final_blocks = 0;
  std::int64_t same_blocks = 0;

  Instant last() const { return static_cast<Instant>(allocated.size() - 1); }
};

// The trace may be absent: then there is one instant, the final state.
History build_history(const model::Snapshot& snapshot, int device);

}  // namespace vramfit::views::report_trace

#endif
