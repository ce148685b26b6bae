#include "ingest/snapshot/trace_gap.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_set>

namespace vramfit::ingest {
namespace {

using model::TraceAction;

// The address ranges that the trace brought in: segments by cudaMalloc, pages by mapping.
class Ranges {
 public:
  void add(std::uint64_t address, std::int64_t size) { ends_[address] = address + static_cast<std::uint64_t>(size); }

  // A release may take part of a range, where pages were mapped one by one.
  void remove(std::uint64_t address, std::int64_t size) {
    const std::uint64_t end = address + static_cast<std::uint64_t>(size);
    auto at = ends_.upper_bound(address);
    if (at != ends_.begin()) --at;
    while (at != ends_.end() && at->first < end) {
      const auto [first, last] = *at;
      if (last <= address) {
        ++at;
        continue;
      }
      at = ends_.erase(at);
      if (first < address) ends_[first] = address;
      if (last > end) ends_[end] = last;
    }
  }

  // Whether every byte is in some range: neighbours may touch.
  bool covers(std::uint64_t address, std::int64_t size) const {
    const std::uint64_t end = address + static_cast<std::uint64_t>(size);
    while (address < end) {
      auto at = ends_.upper_bound(address);
      if (at == ends_.begin()) return false;
      --at;
      if (at->second <= address) return false;
      address = at->second;
    }
    return true;
  }

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;
};

struct FollowedTrace {
  std::unordered_set<std::uint64_t> live;
  Ranges ranges;
  std::int64_t unseen_frees = 0;
};

FollowedTrace follow(const std::vector<model::TraceEntry>& trace) {
  FollowedTrace seen;
  for (const model::TraceEntry& entry : trace) {
    switch (entry.action) {
      case TraceAction::kAlloc:
        seen.live.insert(entry.addr);
        break;
      case TraceAction::kFreeCompleted:
      case TraceAction::kFree:
        seen.unseen_frees += seen.live.erase(entry.addr) == 0 ? 1 : 0;
        break;
      case TraceAction::kSegmentAlloc:
      case TraceAction::kSegmentMap:
        seen.ranges.add(entry.addr, entry.size);
        break;
      case TraceAction::kSegmentFree:
      case TraceAction::kSegmentUnmap:
        seen.ranges.remove(entry.addr, entry.size);
        break;
      default:
        break;
    }
  }
  return seen;
}

}  // namespace

std::vector<model::TraceGap> find_trace_gaps(const model::Snapshot& snapshot) {
  std::map<int, model::TraceGap> gaps;
  std::map<int, FollowedTrace> seen;
  for (std::size_t device = 0; device < snapshot.traces.size(); ++device) {
    const auto& trace = snapshot.traces[device];
    if (trace.empty()) continue;
    const int number = static_cast<int>(device);
    seen[number] = follow(trace);
    gaps[number] = {.entries = static_cast<std::int64_t>(trace.size()),
                    .first_time_us = trace.front().time_us,
                    .last_time_us = trace.back().time_us,
                    .unseen_frees = seen[number].unseen_frees};
  }
  for (const model::Segment& segment : snapshot.segments) {
    model::TraceGap& gap = gaps[segment.device];
    const FollowedTrace& past = seen[segment.device];
    gap.unseen_segments += past.ranges.covers(segment.address, segment.total_size) ? 0 : 1;
    for (const model::Block& block : segment.blocks) {
      if (block.state == model::BlockState::kInactive || past.live.contains(block.address)) continue;
      ++gap.unseen_blocks;
      gap.unseen_block_bytes += block.size;
    }
  }
  std::vector<model::TraceGap> found;
  for (auto& [device, gap] : gaps) {
    gap.device = device;
    found.push_back(gap);
  }
  return found;
}

}  // namespace vramfit::ingest
