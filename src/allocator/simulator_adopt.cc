// Starting from segments that are there already: a recording that begins in the middle of a job.
#include <algorithm>
#include <map>
#include <tuple>

#include "allocator/pools.h"
#include "allocator/simulator.h"

namespace vramfit::allocator {
namespace {}  // namespace

void Simulator::adopt(const AllocatorState& state) {
  std::map<std::tuple<std::uint32_t, StreamHandle>, std::vector<const StateSegment*>> expandable;
  for (const StateSegment& segment : state.segments) {
    if (!segment.pool.is_default() && find_private(segment.pool) == nullptr) create_pool(segment.pool);
    const bool is_small = segment.kind == PoolKind::kSmall;
    std::uint32_t pool = is_small ? kSmallPool : kLargePool;
    if (PrivatePool* own = find_private(segment.pool); own != nullptr && !segment.pool.is_default()) {
      pool = is_small ? own->small : own->large;
      ++own->device_allocations;
    }
    device_.adopt(segment.total);
    total_reserved_ += segment.total;
    statistics_.increase(StatKind::kReservedBytes, segment.kind, counted(segment.total));
    if (segment.is_expandable) {
      expandable[{pool, segment.stream}].push_back(&segment);
    } else {
      statistics_.increase(StatKind::kSegment, segment.kind, 1);
      if (segment.total >= settings_.max_split_bytes) increase(statistics_.oversize_segments, 1);
      adopt_plain(segment, list_of(pool, segment.stream));
    }
  }
  for (const auto& [where, runs] : expandable) adopt_expandable(runs, list_of(std::get<0>(where), std::get<1>(where)));
}

void Simulator::adopt_plain(const StateSegment& segment, std::uint32_t list) {
  adopt_blocks(segment, list, kNone, kNone);
}

BlockId Simulator::adopt_blocks(const StateSegment& segment, std::uint32_t list, std::uint32_t expandable,
                                BlockId previous) {
  for (const StateBlock& block : segment.blocks) previous = adopt_block(block, list, expandable, previous);
  for (BlockId id = previous; id != kNone && blocks_[id].address >= segment.address; id = blocks_[id].previous) {
    const Block& block = blocks_[id];
    if (block.is_allocated || block.event_count > 0 || !block.is_mapped) continue;
    put_free(id);
    if (block.is_split() && expandable == kNone) {
      statistics_.increase(StatKind::kInactiveSplit, segment.kind, 1);
      statistics_.increase(StatKind::kInactiveSplitBytes, segment.kind, counted(block.size));
    }
  }
  return previous;
}

BlockId Simulator::adopt_block(const StateBlock& from, std::uint32_t list, std::uint32_t expandable, BlockId previous) {
  const BlockId id = new_block(list, from.address, from.size);
  Block& block = blocks_[id];
  block.requested = from.requested;
  block.tag = from.tag;
  block.expandable = expandable;
  block.is_allocated = from.state == BlockState::kActiveAllocated;
  block.previous = previous;
  if (previous != kNone) blocks_[previous].next = id;
  if (from.state == BlockState::kInactive) return id;
  const PoolKind kind = pool_of(block).kind;
  statistics_.increase(StatKind::kActive, kind, 1);
  statistics_.increase(StatKind::kActiveBytes, kind, counted(from.size));
  statistics_.increase(StatKind::kRequestedBytes, kind, counted(from.requested));
  if (block.is_allocated) {
    statistics_.increase(StatKind::kAllocation, kind, 1);
    statistics_.increase(StatKind::kAllocatedBytes, kind, counted(from.size));
    if (from.size >= settings_.max_split_bytes) increase(statistics_.oversize_allocations, 1);
  } else {  // waits for an event of some stream that nobody knows
    block.has_uses = true;
    uses_[id].push_back(~StreamHandle{0});
    insert_events(id);
  }
  return id;
}

// The runs of one stream are taken to be one reserved range that begins with the first of them.
void Simulator::adopt_expandable(const std::vector<const StateSegment*>& runs, std::uint32_t list) {
  ExpandableSegment segment;
  segment.page_bytes =
      pools_[lists_[list]->pool].kind == PoolKind::kSmall ? kSmallSegmentBytes : settings_.large_segment_bytes;
  segment.address = runs.front()->address;
  const std::uint64_t span = runs.back()->address + runs.back()->total - segment.address;
  const std::uint64_t wanted = std::max(device_.total_bytes() + device_.total_bytes() / 8, span);
  segment.size = (wanted + segment.page_bytes - 1) / segment.page_bytes * segment.page_bytes;
  segment.is_live = true;
  const auto expandable = static_cast<std::uint32_t>(expandables_.size());
  expandables_.push_back(segment);
  BlockId previous = kNone;
  std::uint64_t at = segment.address;
  const auto add_gap = [&](std::uint64_t until) {
    if (until <= at) return;
    const BlockId gap = new_block(list, at, until - at);
    blocks_[gap].is_mapped = false;
    blocks_[gap].expandable = expandable;
    blocks_[gap].previous = previous;
    if (previous != kNone) blocks_[previous].next = gap;
    add_unmapped(gap);
    previous = gap;
  };
  for (const StateSegment* run : runs) {
    add_gap(run->address);
    previous = adopt_blocks(*run, list, expandable, previous);
    at = run->address + run->total;
  }
  add_gap(segment.address + segment.size);
}

}  // namespace vramfit::allocator
