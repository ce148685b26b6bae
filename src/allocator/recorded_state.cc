#include "allocator/recorded_state.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace vramfit::allocator {
namespace {

using model::TraceEntry;

BlockState state_of(model::BlockState state) {
  switch (state) {
    case model::BlockState::kActiveAllocated:
      return BlockState::kActiveAllocated;
    case model::BlockState::kActivePendingFree:
      return BlockState::kActivePendingFree;
    default:
      return BlockState::kInactive;
  }
}

struct Range {
  std::uint64_t bytes = 0;
  StreamHandle stream = 0;
  PoolKind kind = PoolKind::kSmall;
  PoolId pool;
  bool is_expandable = false;
};

struct Tenant {
  std::uint64_t size = 0;  // of the block; 0: only the request is known
  std::uint64_t requested = 0;
  StreamHandle stream = 0;
  model::StackId stack = model::StackId::kNone;
  bool is_pending = false;
};

// What was there when the trace began: the final state, and the trace backwards.
class Undo {
 public:
  Undo(const model::Snapshot& snapshot, int device, const Settings& own) : snapshot_(snapshot), own_(own) {
    for (const StateSegment& segment : allocator::state_of(snapshot, device).segments) {
      ranges_[segment.address] = {segment.total, segment.stream, segment.kind, segment.pool, segment.is_expandable};
      for (const StateBlock& block : segment.blocks) {
        if (block.state == BlockState::kInactive) continue;
        tenants_[block.address] = {block.size, block.requested, segment.stream, model::StackId{block.tag},
                                   block.state == BlockState::kActivePendingFree};
      }
    }
  }

  void undo(const TraceEntry& entry);
  AllocatorState seed(std::vector<ReplaySlot>& slots) const;
  std::int64_t unread() const { return unread_; }

 private:
  PoolId pool(const TraceEntry& entry) const {
    const auto& known = snapshot_.context(entry.context).pool;
    return known ? pool_of(*known) : PoolId{};
  }
  void add_range(const TraceEntry& entry, bool is_expandable);
  void cut_range(std::uint64_t address, std::uint64_t bytes);
  StateSegment segment_with_blocks(std::uint64_t address, const Range& range, std::vector<ReplaySlot>& slots) const;

  const model::Snapshot& snapshot_;
  const Settings& own_;
  std::map<std::uint64_t, Range> ranges_;
  std::map<std::uint64_t, Tenant> tenants_;
  std::int64_t unread_ = 0;
};

void Undo::undo(const TraceEntry& entry) {
  const auto size = static_cast<std::uint64_t>(entry.size);
  switch (entry.action) {
    case model::TraceAction::kAlloc:
      if (tenants_.erase(entry.addr) == 0) ++unread_;
      break;
    case model::TraceAction::kFreeCompleted:
    case model::TraceAction::kFree:
      tenants_[entry.addr] = {0, size, static_cast<StreamHandle>(entry.stream), entry.stack,
                              entry.action == model::TraceAction::kFreeCompleted};
      break;
    case model::TraceAction::kFreeRequested:
      if (const auto found = tenants_.find(entry.addr); found != tenants_.end()) {
        found->second.is_pending = false;
      } else {
        ++unread_;
      }
      break;
    case model::TraceAction::kSegmentAlloc:
    case model::TraceAction::kSegmentMap:
      cut_range(entry.addr, size);
      break;
    case model::TraceAction::kSegmentFree:
      add_range(entry, false);
      break;
    case model::TraceAction::kSegmentUnmap:
      add_range(entry, true);
      break;
    default:
      break;
  }
}

void Undo::cut_range(std::uint64_t address, std::uint64_t bytes) {
  auto found = ranges_.upper_bound(address);
  if (found == ranges_.begin() || (--found)->first + found->second.bytes < address + bytes) {
    ++unread_;
    return;
  }
  const auto [begin, range] = *found;
  ranges_.erase(found);
  Range part = range;
  if (address > begin) {
    part.bytes = address - begin;
    ranges_[begin] = part;
  }
  if (begin + range.bytes > address + bytes) {
    part.bytes = begin + range.bytes - (address + bytes);
    ranges_[address + bytes] = part;
  }
}

// Small segments are 2 MiB; unmapped small pages may be several at once, and of large ones at least 20 MiB.
void Undo::add_range(const TraceEntry& entry, bool is_expandable) {
  Range range;
  range.bytes = static_cast<std::uint64_t>(entry.size);
  range.stream = static_cast<StreamHandle>(entry.stream);
  range.pool = pool(entry);
  range.is_expandable = is_expandable;
  const std::uint64_t least_large = is_expandable ? own_.large_segment_bytes : kMinLargeRequestBytes;
  range.kind = range.bytes < least_large ? PoolKind::kSmall : PoolKind::kLarge;
  std::uint64_t begin = entry.addr;
  if (is_expandable) {
    const auto joins = [&](const Range& other) {
      return other.is_expandable && other.stream == range.stream && other.pool == range.pool;
    };
    if (const auto after = ranges_.find(begin + range.bytes); after != ranges_.end() && joins(after->second)) {
      range.bytes += after->second.bytes;
      range.kind = after->second.kind;
      ranges_.erase(after);
    }
    auto before = ranges_.lower_bound(begin);
    if (before != ranges_.begin() && (--before)->first + before->second.bytes == begin && joins(before->second)) {
      range.bytes += before->second.bytes;
      range.kind = before->second.kind;
      begin = before->first;
    }
  }
  ranges_[begin] = range;
}

StateSegment Undo::segment_with_blocks(std::uint64_t address, const Range& range,
                                       std::vector<ReplaySlot>& slots) const {
  StateSegment segment;
  segment.address = address;
  segment.total = range.bytes;
  segment.stream = range.stream;
  segment.kind = range.kind;
  segment.pool = range.pool;
  segment.is_expandable = range.is_expandable;
  const std::uint64_t end = address + range.bytes;
  std::uint64_t at = address;
  const auto add = [&](std::uint64_t until, BlockState state, const Tenant* tenant) {
    if (until <= at) return;
    StateBlock block{at, until - at, tenant != nullptr ? tenant->requested : 0, state, 0};
    if (tenant != nullptr) {
      block.tag = static_cast<std::uint32_t>(slots.size());
      slots.push_back({tenant->stack, kNotTraced, tenant->requested});
      segment.active += block.size;
      segment.requested += block.requested;
      if (state == BlockState::kActiveAllocated) segment.allocated += block.size;
    }
    segment.blocks.push_back(block);
    at = until;
  };
  for (auto found = tenants_.lower_bound(address); found != tenants_.end() && found->first < end; ++found) {
    const auto& [begin, tenant] = *found;
    add(begin, BlockState::kInactive, nullptr);
    const auto next = std::next(found);
    const std::uint64_t most = next != tenants_.end() ? std::min(next->first, end) : end;
    std::uint64_t until =
        begin + (tenant.size != 0 ? tenant.size : round_size(std::max<std::uint64_t>(tenant.requested, 1), own_));
    // A rest that is not split off (should_split) belongs to the block: nothing else can have left so small a hole.
    const bool has_remnants = range.kind == PoolKind::kLarge && !range.is_expandable && tenant.size == 0;
    if (has_remnants && most > until && most - until <= kSmallBytes) until = most;
    add(std::min(until, most), tenant.is_pending ? BlockState::kActivePendingFree : BlockState::kActiveAllocated,
        &tenant);
  }
  add(end, BlockState::kInactive, nullptr);
  return segment;
}

AllocatorState Undo::seed(std::vector<ReplaySlot>& slots) const {
  AllocatorState state;
  for (const auto& [address, range] : ranges_) state.segments.push_back(segment_with_blocks(address, range, slots));
  return state;
}

}  // namespace

PoolId pool_of(const model::PoolId& pool) {
  return {static_cast<std::uint64_t>(pool.first), static_cast<std::uint64_t>(pool.second)};
}

AllocatorState state_of(const model::Snapshot& snapshot, int device) {
  AllocatorState state;
  for (const model::Segment& from : snapshot.segments) {
    if (from.device != device) continue;
    StateSegment segment;
    segment.address = from.address;
    segment.total = static_cast<std::uint64_t>(from.total_size);
    segment.allocated = static_cast<std::uint64_t>(from.allocated_size);
    segment.active = static_cast<std::uint64_t>(from.active_size);
    segment.requested = static_cast<std::uint64_t>(from.requested_size);
    segment.stream = static_cast<StreamHandle>(from.stream);
    segment.kind = from.is_large ? PoolKind::kLarge : PoolKind::kSmall;
    segment.pool = pool_of(from.pool);
    segment.is_expandable = from.is_expandable;
    for (const model::Block& block : from.blocks) {
      segment.blocks.push_back({block.address, static_cast<std::uint64_t>(block.size),
                                static_cast<std::uint64_t>(block.requested_size), state_of(block.state),
                                static_cast<std::uint32_t>(block.stack)});
    }
    state.segments.push_back(std::move(segment));
  }
  std::sort(state.segments.begin(), state.segments.end(),
            [](const StateSegment& a, const StateSegment& b) { return a.address < b.address; });
  return state;
}

Before state_before(const model::Snapshot& snapshot, int device, const Settings& own, std::size_t from) {
  Undo undo(snapshot, device, own);
  const auto index = static_cast<std::size_t>(device);
  if (device >= 0 && index < snapshot.traces.size()) {
    const std::vector<TraceEntry>& trace = snapshot.traces[index];
    for (std::size_t entry = trace.size(); entry-- > from;) undo.undo(trace[entry]);
  }
  Before before;
  before.state = undo.seed(before.slots);
  before.unmatched_entries = undo.unread();
  return before;
}

}  // namespace vramfit::allocator
