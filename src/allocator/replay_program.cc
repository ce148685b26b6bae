#include "allocator/replay_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace vramfit::allocator {
namespace {

using model::TraceEntry;

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
  if (!slot_at_.insert_or_assign(trace_[entry].addr, slot).second) ++program_.unmatched_entries;
  add(ReplayCall::Kind::kAllocate, entry, slot);
}

void Builder::free(std::size_t entry) {
  const auto found = slot_at_.find(trace_[entry].addr);
  if (found == slot_at_.end()) {
    ++program_.unmatched_entries;
    return;
  }
  const std::uint32_t slot = found->second;
  slot_at_.erase(found);
  const bool is_done_at_once =
      trace_[entry].action == model::TraceAction::kFree ||
      (entry + 1 < trace_.size() && trace_[entry + 1].action == model::TraceAction::kFreeCompleted &&
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
    if (next.action == model::TraceAction::kOom) return true;
    if (next.action == model::TraceAction::kSegmentAlloc || next.action == model::TraceAction::kSegmentMap)
      grows += next.size;
    if (next.action == model::TraceAction::kAlloc || next.action == model::TraceAction::kFreeRequested) break;
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
  if (trace_[entry].action != model::TraceAction::kSegmentUnmap) return;
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
  if (one.action == model::TraceAction::kSegmentAlloc) {
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
    const model::TraceAction action = trace_[entry].action;
    const bool gives_back = action == model::TraceAction::kSegmentFree || action == model::TraceAction::kSegmentUnmap;
    if (gives_back) release(entry);
    if (!gives_back && action != model::TraceAction::kFreeCompleted) is_releasing_ = false;
    if (action == model::TraceAction::kAlloc) allocate(entry);
    if (action == model::TraceAction::kFreeRequested || action == model::TraceAction::kFree) free(entry);
    if (action == model::TraceAction::kFreeCompleted) complete(entry);
    if (action == model::TraceAction::kSegmentAlloc || action == model::TraceAction::kSegmentMap) grow(entry);
    if (action == model::TraceAction::kOom) run_out(entry);
  }
  program_.recorded_peak = static_cast<std::uint64_t>(std::max<std::int64_t>(most_reserved_, 0));
}

}  // namespace

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
  program.unmatched_entries = before.unmatched_entries;
  program.seeded_blocks = static_cast<std::int64_t>(program.slots.size());
  for (const ReplaySlot& slot : program.slots) program.seeded_bytes += static_cast<std::int64_t>(slot.bytes);
  program.calls.reserve(trace.size());
  Builder(snapshot, trace, program, own).build();
  return program;
}

}  // namespace vramfit::allocator
