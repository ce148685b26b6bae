#include "views/trace/history.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "allocator/replay_program.h"
#include "allocator/settings.h"

namespace vramfit::views::report_trace {

using allocator::PoolId;
using allocator::PoolKind;
using model::TraceAction;
using model::TraceEntry;

namespace {

// The labels in force as time goes by: the ranges of record_function on this device.
class Labels {
 public:
  Labels(const model::Snapshot& snapshot, int device, std::vector<Label>& nodes) : snapshot_(snapshot), nodes_(nodes) {
    for (const model::Annotation& annotation : snapshot.annotations) {
      if (annotation.device == device) annotations_.push_back(&annotation);
    }
    std::ranges::stable_sort(annotations_, {}, &model::Annotation::time_us);
  }

  std::uint32_t at(const TraceEntry& entry) {
    while (next_ < annotations_.size() && annotations_[next_]->time_us <= entry.time_us) take(*annotations_[next_++]);
    const model::TraceContext& context = snapshot_.context(entry.context);
    std::uint32_t node = open_.empty() ? 0 : open_.back().second;
    if (context.user_metadata != model::StringId::kEmpty) node = child(node, context.user_metadata);
    if (snapshot_.text(context.compile_context) != "N/A") node = child(node, context.compile_context);
    return node;
  }

  std::uint32_t child(std::uint32_t parent, model::StringId text) {
    if (snapshot_.text(text).empty()) return parent;
    const auto [found, is_new] = known_.try_emplace({parent, text}, static_cast<std::uint32_t>(nodes_.size()));
    if (is_new) nodes_.push_back({parent, std::string(snapshot_.text(text))});
    return found->second;
  }

 private:
  void take(const model::Annotation& annotation) {
    if (annotation.is_start) {
      open_.emplace_back(annotation.name, child(open_.empty() ? 0 : open_.back().second, annotation.name));
      return;
    }
    // Threads may interleave: the newest of this name ends.
    const auto found =
        std::find_if(open_.rbegin(), open_.rend(), [&](const auto& open) { return open.first == annotation.name; });
    if (found != open_.rend()) open_.erase(std::next(found).base());
  }

  const model::Snapshot& snapshot_;
  std::vector<Label>& nodes_;
  std::vector<const model::Annotation*> annotations_;
  std::size_t next_ = 0;
  std::vector<std::pair<model::StringId, std::uint32_t>> open_;
  std::map<std::pair<std::uint32_t, model::StringId>, std::uint32_t> known_;
};

class Walk {
 public:
  Walk(const model::Snapshot& snapshot, int device)
      : snapshot_(snapshot), device_(device), labels_(snapshot, device, history_.labels) {}

  History run();

 private:
  using Ranges = std::map<std::uint64_t, std::uint32_t>;  // address -> index into History::ranges, of those that are

  void seed();
  void take(const TraceEntry& entry);
  void allocate(const TraceEntry& entry);
  void request_free(const TraceEntry& entry);
  void complete_free(const TraceEntry& entry);
  void open(const TraceEntry& entry, bool is_expandable);
  void close(const TraceEntry& entry);
  void begin_range(Range range);
  void end_range(Ranges::iterator range);
  void join(Range& range, Ranges::iterator other);
  const Range* range_at(std::uint64_t address) const;
  std::uint64_t block_size(const TraceEntry& entry, const Range* range) const;
  void check_end();
  std::uint32_t resolve(std::uint32_t place);

  const model::Snapshot& snapshot_;
  int device_;
  allocator::Settings settings_;
  History history_;
  Labels labels_;
  std::map<std::uint64_t, std::uint32_t> live_;  // address -> tenant, also of those that wait
  Ranges ranges_;
  std::map<std::uint64_t, std::pair<PoolKind, PoolId>> final_;  // what the file says of its segments
  std::vector<std::uint32_t> places_;                           // place -> the one it was joined to
  std::map<std::uint64_t, std::uint32_t> place_of_address_;
  Instant now_ = 0;
  std::int64_t allocated_ = 0;
  std::int64_t reserved_ = 0;
};

const Range* Walk::range_at(std::uint64_t address) const {
  auto found = ranges_.upper_bound(address);
  if (found == ranges_.begin()) return nullptr;
  const Range& range = history_.ranges[std::prev(found)->second];
  return address < range.address + range.size ? &range : nullptr;
}

void Walk::begin_range(Range range) {
  range.from = now_;
  range.to = kNever;
  reserved_ += static_cast<std::int64_t>(range.size);
  ranges_[range.address] = static_cast<std::uint32_t>(history_.ranges.size());
  history_.ranges.push_back(range);
}

void Walk::end_range(Ranges::iterator range) {
  Range& ended = history_.ranges[range->second];
  ended.to = now_;
  reserved_ -= static_cast<std::int64_t>(ended.size);
  ranges_.erase(range);
}

std::uint32_t Walk::resolve(std::uint32_t place) {
  while (places_[place] != place) place = places_[place] = places_[places_[place]];
  return place;
}

void Walk::join(Range& range, Ranges::iterator other) {
  const Range& joined = history_.ranges[other->second];
  range.address = std::min(range.address, joined.address);
  range.size += joined.size;
  range.kind = joined.kind;
  places_[resolve(range.place)] = resolve(joined.place);
  range.place = resolve(joined.place);
  end_range(other);
}

void Walk::open(const TraceEntry& entry, bool is_expandable) {
  Range range{.address = entry.addr, .size = static_cast<std::uint64_t>(std::max<std::int64_t>(entry.size, 0))};
  range.stream = entry.stream;
  range.is_expandable = is_expandable;
  const auto least_large = is_expandable ? settings_.large_segment_bytes : allocator::kMinLargeRequestBytes;
  range.kind = range.size < least_large ? PoolKind::kSmall : PoolKind::kLarge;
  if (const auto known = final_.find(range.address); known != final_.end()) {
    std::tie(range.kind, range.pool) = known->second;
  }
  if (const auto& pool = snapshot_.context(entry.context).pool) {
    range.pool = {static_cast<std::uint64_t>(pool->first), static_cast<std::uint64_t>(pool->second)};
  }
  const auto [place, is_new] = place_of_address_.try_emplace(range.address, static_cast<std::uint32_t>(places_.size()));
  if (is_new) places_.push_back(place->second);
  range.place = resolve(place->second);
  if (const auto old = ranges_.find(range.address); old != ranges_.end()) {
    ++history_.unmatched_entries;
    end_range(old);
  }
  if (is_expandable) {
    const auto joins = [&](Ranges::iterator other) {
      const Range& one = history_.ranges[other->second];
      return one.is_expandable && one.stream == range.stream && one.pool == range.pool;
    };
    const auto after = ranges_.find(range.address + range.size);
    if (after != ranges_.end() && joins(after)) join(range, after);
    auto before = ranges_.lower_bound(entry.addr);
    if (before != ranges_.begin()) {
      --before;
      const Range& one = history_.ranges[before->second];
      if (one.address + one.size == entry.addr && joins(before)) join(range, before);
    }
  }
  begin_range(range);
}

// All of a range, or pages out of an expandable one.
void Walk::close(const TraceEntry& entry) {
  const Range* found = range_at(entry.addr);
  const std::uint64_t end = entry.addr + static_cast<std::uint64_t>(std::max<std::int64_t>(entry.size, 0));
  if (found == nullptr || end > found->address + found->size) {
    ++history_.unmatched_entries;
    return;
  }
  const Range whole = *found;
  end_range(ranges_.find(whole.address));
  Range part = whole;
  if (entry.addr > whole.address) {
    part.size = entry.addr - whole.address;
    begin_range(part);
  }
  if (end < whole.address + whole.size) {
    part.address = end;
    part.size = whole.address + whole.size - end;
    begin_range(part);
  }
}

// The trace tells what was asked for. What the allocator does not split off belongs to the block (should_split and
// get_free_block in c10/cuda/CUDACachingAllocator.cpp): the rest of its hole, when that is small or may not be split.
std::uint64_t Walk::block_size(const TraceEntry& entry, const Range* range) const {
  const auto requested = static_cast<std::uint64_t>(std::max<std::int64_t>(entry.size, 1));
  const std::uint64_t rounded = allocator::round_size(requested, settings_);
  if (range == nullptr) return rounded;
  std::uint64_t hole_end = range->address + range->size;
  if (const auto next = live_.upper_bound(entry.addr); next != live_.end()) {
    hole_end = std::min(hole_end, history_.tenants[next->second].address);
  }
  if (hole_end <= entry.addr + rounded) return rounded;
  const std::uint64_t remains = hole_end - entry.addr - rounded;
  const bool is_whole = range->kind == PoolKind::kLarge && !range->is_expandable &&
                        (remains <= allocator::kSmallBytes || rounded >= settings_.max_split_bytes);
  return is_whole ? rounded + remains : rounded;
}

void Walk::allocate(const TraceEntry& entry) {
  if (const auto old = live_.find(entry.addr); old != live_.end()) {  // its free is not in the trace
    ++history_.unmatched_entries;
    Tenant& tenant = history_.tenants[old->second];
    if (tenant.freed == kNever) {
      allocated_ -= static_cast<std::int64_t>(tenant.size);
      tenant.freed = now_;
    }
    tenant.to = now_;
    live_.erase(old);
  }
  const Range* range = range_at(entry.addr);
  Tenant tenant{.address = entry.addr, .size = block_size(entry, range)};
  tenant.requested = static_cast<std::uint64_t>(std::max<std::int64_t>(entry.size, 0));
  tenant.from = now_;
  tenant.stack = entry.stack;
  tenant.label = labels_.at(entry);
  tenant.place = range != nullptr ? range->place : 0;
  allocated_ += static_cast<std::int64_t>(tenant.size);
  live_[entry.addr] = static_cast<std::uint32_t>(history_.tenants.size());
  history_.tenants.push_back(tenant);
}

void Walk::request_free(const TraceEntry& entry) {
  const auto found = live_.find(entry.addr);
  if (found == live_.end() || history_.tenants[found->second].freed != kNever) {
    ++history_.unmatched_entries;
    return;
  }
  Tenant& tenant = history_.tenants[found->second];
  tenant.freed = now_;
  allocated_ -= static_cast<std::int64_t>(tenant.size);
}

void Walk::complete_free(const TraceEntry& entry) {
  const auto found = live_.find(entry.addr);
  if (found == live_.end()) {
    ++history_.unmatched_entries;
    return;
  }
  if (history_.tenants[found->second].freed == kNever) request_free(entry);
  history_.tenants[found->second].to = now_;
  live_.erase(found);
}

void Walk::take(const TraceEntry& entry) {
  switch (entry.action) {
    case TraceAction::kAlloc:
      return allocate(entry);
    case TraceAction::kFreeRequested:
      return request_free(entry);
    case TraceAction::kFreeCompleted:
    case TraceAction::kFree:
      return complete_free(entry);
    case TraceAction::kSegmentAlloc:
      return open(entry, false);
    case TraceAction::kSegmentMap:
      return open(entry, true);
    case TraceAction::kSegmentFree:
    case TraceAction::kSegmentUnmap:
      return close(entry);
    case TraceAction::kOom:
      history_.ooms.push_back({now_, entry.size, entry.device_free(), entry.stack});
      return;
    case TraceAction::kAnnotate:
      if (const auto found = live_.find(entry.addr); found != live_.end()) {
        Tenant& tenant = history_.tenants[found->second];
        tenant.label = labels_.child(tenant.label, snapshot_.context(entry.context).user_metadata);
      }
      return;
    default:
      return;
  }
}

void Walk::seed() {
  const allocator::Before before = allocator::state_before(snapshot_, device_, settings_);
  history_.unmatched_entries += before.unmatched_entries;
  for (const allocator::StateSegment& segment : before.state.segments) {
    Range range{.address = segment.address, .size = segment.total};
    range.place =
        place_of_address_.try_emplace(range.address, static_cast<std::uint32_t>(places_.size())).first->second;
    if (range.place == places_.size()) places_.push_back(range.place);
    range.kind = segment.kind;
    range.pool = segment.pool;
    range.stream = static_cast<std::int64_t>(segment.stream);
    range.is_expandable = segment.is_expandable;
    begin_range(range);
    for (const allocator::StateBlock& block : segment.blocks) {
      if (block.state == allocator::BlockState::kInactive) continue;
      Tenant tenant{.address = block.address, .size = block.size, .requested = block.requested};
      tenant.stack = before.slots[block.tag].stack;
      tenant.place = range.place;
      if (block.state == allocator::BlockState::kActivePendingFree) {
        tenant.freed = 0;
      } else {
        allocated_ += static_cast<std::int64_t>(tenant.size);
      }
      live_[block.address] = static_cast<std::uint32_t>(history_.tenants.size());
      history_.tenants.push_back(tenant);
    }
  }
}

void Walk::check_end() {
  for (const allocator::StateSegment& segment : allocator::state_of(snapshot_, device_).segments) {
    for (const allocator::StateBlock& block : segment.blocks) {
      if (block.state == allocator::BlockState::kInactive) continue;
      ++history_.final_blocks;
      const auto found = live_.find(block.address);
      history_.same_blocks += found != live_.end() && history_.tenants[found->second].size == block.size ? 1 : 0;
    }
  }
}

History Walk::run() {
  // A release that the file does not tell has the rules of the oldest that writes such a file.
  const auto version = allocator::parse_torch_version(snapshot_.torch_at_least);
  if (const auto known =
          allocator::settings_of(snapshot_, allocator::rules_of(version.value_or(allocator::TorchVersion{2, 0})))) {
    settings_ = *known;
  }
  for (const allocator::StateSegment& segment : allocator::state_of(snapshot_, device_).segments) {
    final_[segment.address] = {segment.kind, segment.pool};
  }
  seed();
  history_.allocated.push_back(allocated_);
  history_.reserved.push_back(reserved_);
  const auto index = static_cast<std::size_t>(device_);
  if (device_ >= 0 && index < snapshot_.traces.size()) {
    history_.allocated.reserve(snapshot_.traces[index].size() + 1);
    history_.reserved.reserve(snapshot_.traces[index].size() + 1);
    for (const TraceEntry& entry : snapshot_.traces[index]) {
      ++now_;
      take(entry);
      history_.allocated.push_back(allocated_);
      history_.reserved.push_back(reserved_);
    }
  }
  check_end();
  for (Tenant& tenant : history_.tenants) tenant.place = places_.empty() ? 0 : resolve(tenant.place);
  for (Range& range : history_.ranges) range.place = resolve(range.place);
  return std::move(history_);
}

}  // namespace

History build_history(const model::Snapshot& snapshot, int device) { return Walk(snapshot, device).run(); }

}  // namespace vramfit::views::report_trace
