#include "allocator/replay_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace vramfit::allocator {
namespace {

using model::TraceAction;
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

PoolId pool_of(const model::PoolId& pool) {
  return {static_cast<std::uint64_t>(pool.first), static_cast<std::uint64_t>(pool.second)};
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
  State seed(std::vector<ReplaySlot>& slots) const;
  std::int64_t odd() const { return odd_; }

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
  std::int64_t odd_ = 0;
};

void Undo::undo(const TraceEntry& entry) {
  const auto size = static_cast<std::uint64_t>(entry.size);
  switch (entry.action) {
    case TraceAction::kAlloc:
      if (tenants_.erase(entry.addr) == 0) ++odd_;
      break;
    case TraceAction::kFreeCompleted:
    case TraceAction::kFree:
      tenants_[entry.addr] = {0, size, static_cast<StreamHandle>(entry.stream), entry.stack,
                              entry.action == TraceAction::kFreeCompleted};
      break;
    case TraceAction::kFreeRequested:
      if (const auto found = tenants_.find(entry.addr); found != tenants_.end()) {
        found->second.is_pending = false;
      } else {
        ++odd_;
      }
      break;
    case TraceAction::kSegmentAlloc:
    case TraceAction::kSegmentMap:
      cut_range(entry.addr, size);
      break;
    case TraceAction::kSegmentFree:
      add_range(entry, false);
      break;
    case TraceAction::kSegmentUnmap:
      add_range(entry, true);
      break;
    default:
      break;
  }
}

void Undo::cut_range(std::uint64_t address, std::uint64_t bytes) {
  auto found = ranges_.upper_bound(address);
  if (found == ranges_.begin() || (--found)->first + found->second.bytes < address + bytes) {
    ++odd_;
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
    // What is not split off (should_split) belongs to the block: nothing else can have left so small a hole.
    const bool has_remnants = range.kind == PoolKind::kLarge && !range.is_expandable && tenant.size == 0;
    if (has_remnants && most > until && most - until <= kSmallBytes) until = most;
    add(std::min(until, most), tenant.is_pending ? BlockState::kActivePendingFree : BlockState::kActiveAllocated,
        &tenant);
  }
  add(end, BlockState::kInactive, nullptr);
  return segment;
}

State Undo::seed(std::vector<ReplaySlot>& slots) const {
  State state;
  for (const auto& [address, range] : ranges_) state.segments.push_back(segment_with_blocks(address, range, slots));
  return state;
}

// The trace forwards, as calls.
class Builder {
 public:
  Builder(const model::Snapshot& snapshot, const std::vector<TraceEntry>& trace, ReplayProgram& program,
          const Settings& own)
      : snapshot_(snapshot), trace_(trace), program_(program), own_(own) {}
  void build();

 private:
  void add(ReplayCall::Kind kind, std::size_t entry, std::uint32_t slot = 0);
  void allocate(std::size_t entry);
  void free(std::size_t entry);
  void complete(std::size_t entry);
  void release(std::size_t entry);
  void grow(std::size_t entry);
  void run_out(std::size_t entry);
  std::uint8_t pool_index(const TraceEntry& entry);
  std::uint16_t stream_index(std::int64_t stream);
  bool is_for_want(std::size_t entry) const;

  const model::Snapshot& snapshot_;
  const std::vector<TraceEntry>& trace_;
  ReplayProgram& program_;
  const Settings& own_;
  std::unordered_map<std::uint64_t, std::uint32_t> slot_at_;
  std::unordered_map<std::uint64_t, std::uint32_t> pending_at_;
  std::map<std::pair<StreamHandle, PoolId>, std::uint64_t> ranges_[2];  // expandable: stream and pool -> bytes mapped
  std::int64_t reserved_ = 0;
  std::int64_t most_reserved_ = 0;
  bool is_releasing_ = false;
};

std::uint16_t Builder::stream_index(std::int64_t stream) {
  auto& streams = program_.streams;
  const auto handle = static_cast<StreamHandle>(stream);
  const auto index = static_cast<std::size_t>(std::find(streams.begin(), streams.end(), handle) - streams.begin());
  if (index == UINT16_MAX) return 0;  // nobody has so many
  if (index == streams.size()) streams.push_back(handle);
  return static_cast<std::uint16_t>(index);
}

std::uint8_t Builder::pool_index(const TraceEntry& entry) {
  const auto& known = snapshot_.context(entry.context).pool;
  const PoolId pool = known ? pool_of(*known) : PoolId{};
  auto& pools = program_.pools;
  const auto found = std::find(pools.begin(), pools.end(), pool);
  if (found != pools.end()) return static_cast<std::uint8_t>(found - pools.begin());
  if (pools.size() > UINT8_MAX) return 0;
  pools.push_back(pool);
  return static_cast<std::uint8_t>(pools.size() - 1);
}

void Builder::add(ReplayCall::Kind kind, std::size_t entry, std::uint32_t slot) {
  ReplayCall call;
  call.kind = kind;
  call.slot = slot;
  call.bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(trace_[entry].size, 1));
  call.stream = stream_index(trace_[entry].stream);
  call.pool = pool_index(trace_[entry]);
  program_.calls.push_back(call);
  program_.entry_of.push_back(static_cast<std::uint32_t>(entry));
}

void Builder::allocate(std::size_t entry) {
  const auto slot = static_cast<std::uint32_t>(program_.slots.size());
  const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(trace_[entry].size, 1));
  program_.slots.push_back({trace_[entry].stack, static_cast<std::uint32_t>(entry), bytes});
  if (!slot_at_.insert_or_assign(trace_[entry].addr, slot).second) ++program_.odd_entries;
  add(ReplayCall::Kind::kAllocate, entry, slot);
}

void Builder::free(std::size_t entry) {
  const auto found = slot_at_.find(trace_[entry].addr);
  if (found == slot_at_.end()) {
    ++program_.odd_entries;
    return;
  }
  const std::uint32_t slot = found->second;
  slot_at_.erase(found);
  const bool is_done_at_once = trace_[entry].action == TraceAction::kFree ||
                               (entry + 1 < trace_.size() && trace_[entry + 1].action == TraceAction::kFreeCompleted &&
                                trace_[entry + 1].addr == trace_[entry].addr);
  if (!is_done_at_once) {
    add(ReplayCall::Kind::kUse, entry, slot);
    pending_at_[trace_[entry].addr] = slot;
  }
  add(ReplayCall::Kind::kFree, entry, slot);
}

void Builder::complete(std::size_t entry) {
  const auto found = pending_at_.find(trace_[entry].addr);
  if (found == pending_at_.end()) return;  // came with its free
  add(ReplayCall::Kind::kComplete, entry, found->second);
  pending_at_.erase(found);
}

// Whether memory was given back because there was no room: an OOM follows, or more is reserved than ever fitted before.
bool Builder::is_for_want(std::size_t entry) const {
  std::int64_t grows = 0;
  for (std::size_t at = entry; at < trace_.size(); ++at) {
    const TraceEntry& next = trace_[at];
    if (next.action == TraceAction::kOom) return true;
    if (next.action == TraceAction::kSegmentAlloc || next.action == TraceAction::kSegmentMap) grows += next.size;
    if (next.action == TraceAction::kAlloc || next.action == TraceAction::kFreeRequested) break;
  }
  return grows > 0 && reserved_ + grows > most_reserved_;
}

void Builder::release(std::size_t entry) {
  if (!is_releasing_) {
    add(is_for_want(entry) ? ReplayCall::Kind::kRelease : ReplayCall::Kind::kEmptyCache, entry);
    program_.calls.back().pool = 0;
  }
  is_releasing_ = true;
  reserved_ -= trace_[entry].size;
  if (trace_[entry].action != TraceAction::kSegmentUnmap) return;
  for (auto& side : ranges_) {
    const auto& known = snapshot_.context(trace_[entry].context).pool;
    const auto found = side.find({static_cast<StreamHandle>(trace_[entry].stream), known ? pool_of(*known) : PoolId{}});
    if (found == side.end()) continue;
    found->second -= std::min(found->second, static_cast<std::uint64_t>(trace_[entry].size));
    if (found->second == 0) side.erase(found);
    break;
  }
}

void Builder::grow(std::size_t entry) {
  const TraceEntry& one = trace_[entry];
  const auto bytes = static_cast<std::uint64_t>(one.size);
  reserved_ += one.size;
  most_reserved_ = std::max(most_reserved_, reserved_);
  if (one.action == TraceAction::kSegmentAlloc) {
    program_.addresses.mallocs.push_back(one.addr);
    return;
  }
  const bool is_small = bytes == kSmallSegmentBytes;
  const auto& known = snapshot_.context(one.context).pool;
  auto& mapped = ranges_[is_small ? 0 : 1][{static_cast<StreamHandle>(one.stream), known ? pool_of(*known) : PoolId{}}];
  if (mapped == 0) {
    const std::uint64_t page = is_small ? kSmallSegmentBytes : own_.large_segment_bytes;
    program_.addresses.reserved[{static_cast<StreamHandle>(one.stream), page, known ? pool_of(*known) : PoolId{}}]
        .push_back(one.addr);
  }
  mapped += bytes;
}

void Builder::run_out(std::size_t entry) {
  const std::uint64_t could = static_cast<std::uint64_t>(std::max<std::int64_t>(reserved_, 0)) + trace_[entry].addr;
  program_.capacity = std::max(program_.capacity.value_or(0), could);
  add(ReplayCall::Kind::kAttempt, entry);
}

void Builder::build() {
  for (const StateSegment& segment : program_.seed.segments) {
    reserved_ += static_cast<std::int64_t>(segment.total);
    for (const StateBlock& block : segment.blocks) {
      if (block.state == BlockState::kActiveAllocated) slot_at_[block.address] = block.tag;
      if (block.state == BlockState::kActivePendingFree) pending_at_[block.address] = block.tag;
    }
    if (segment.is_expandable) {
      ranges_[segment.kind == PoolKind::kSmall ? 0 : 1][{segment.stream, segment.pool}] += segment.total;
    }
  }
  most_reserved_ = reserved_;
  for (std::size_t entry = 0; entry < trace_.size(); ++entry) {
    const TraceAction action = trace_[entry].action;
    const bool gives_back = action == TraceAction::kSegmentFree || action == TraceAction::kSegmentUnmap;
    if (gives_back) release(entry);
    if (!gives_back && action != TraceAction::kFreeCompleted) is_releasing_ = false;
    if (action == TraceAction::kAlloc) allocate(entry);
    if (action == TraceAction::kFreeRequested || action == TraceAction::kFree) free(entry);
    if (action == TraceAction::kFreeCompleted) complete(entry);
    if (action == TraceAction::kSegmentAlloc || action == TraceAction::kSegmentMap) grow(entry);
    if (action == TraceAction::kOom) run_out(entry);
  }
  program_.recorded_peak = static_cast<std::uint64_t>(std::max<std::int64_t>(most_reserved_, 0));
}

}  // namespace

State state_of(const model::Snapshot& snapshot, int device) {
  State state;
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

base::Result<Settings> settings_of(const model::Snapshot& snapshot, const Rules& rules) {
  Settings settings;
  if (!snapshot.settings) return settings;
  const model::AllocatorSettings& from = *snapshot.settings;
  if (auto parsed = parse_settings(from.conf, rules); parsed) settings = *parsed;
  if (from.max_split_size) settings.max_split_bytes = static_cast<std::uint64_t>(*from.max_split_size);
  settings.garbage_collection_threshold = from.garbage_collection_threshold;
  settings.expandable_segments = from.expandable_segments;
  std::size_t cell = 0;
  for (const auto& [mib, divisions] : from.roundup_power2_divisions) {
    if (cell < settings.roundup_power2_divisions.size()) {
      settings.roundup_power2_divisions[cell++] = static_cast<std::uint32_t>(divisions);
    }
  }
  return settings;
}

Before state_before(const model::Snapshot& snapshot, int device, const Settings& own) {
  Undo undo(snapshot, device, own);
  const auto index = static_cast<std::size_t>(device);
  if (device >= 0 && index < snapshot.traces.size()) {
    const std::vector<TraceEntry>& trace = snapshot.traces[index];
    for (std::size_t entry = trace.size(); entry-- > 0;) undo.undo(trace[entry]);
  }
  Before before;
  before.state = undo.seed(before.slots);
  before.odd_entries = undo.odd();
  return before;
}

base::Result<ReplayProgram> build_replay(const model::Snapshot& snapshot, int device, const Settings& own,
                                         const Rules&) {
  const auto index = static_cast<std::size_t>(device);
  if (device < 0 || index >= snapshot.traces.size() || snapshot.traces[index].empty()) {
    return base::fail(base::ErrorCode::kUnsupported, fmt::format("the snapshot has no trace of device {}", device), {},
                      "record one with torch.cuda.memory._record_memory_history() before the work begins");
  }
  const std::vector<TraceEntry>& trace = snapshot.traces[index];
  ReplayProgram program;
  program.pools.push_back({});
  program.final = state_of(snapshot, device);
  Before before = state_before(snapshot, device, own);
  program.seed = std::move(before.state);
  program.slots = std::move(before.slots);
  program.odd_entries = before.odd_entries;
  program.seeded_blocks = static_cast<std::int64_t>(program.slots.size());
  for (const ReplaySlot& slot : program.slots) program.seeded_bytes += static_cast<std::int64_t>(slot.bytes);
  program.calls.reserve(trace.size());
  Builder(snapshot, trace, program, own).build();
  return program;
}

}  // namespace vramfit::allocator
