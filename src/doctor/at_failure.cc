#include "doctor/at_failure.h"

#include "allocator/recorded_state.h"

namespace vramfit::doctor {

namespace {

model::Block block_of(const allocator::StateBlock& from, const allocator::Before& before) {
  model::Block block;
  block.address = from.address;
  block.size = static_cast<std::int64_t>(from.size);
  block.requested_size = static_cast<std::int64_t>(from.requested);
  if (from.state == allocator::BlockState::kInactive) return block;
  block.state = from.state == allocator::BlockState::kActiveAllocated ? model::BlockState::kActiveAllocated
                                                                      : model::BlockState::kActivePendingFree;
  block.stack = before.slots[from.tag].stack;
  return block;
}

model::Segment segment_of(const allocator::StateSegment& from, int device, const allocator::Before& before) {
  model::Segment segment;
  segment.device = device;
  segment.address = from.address;
  segment.total_size = static_cast<std::int64_t>(from.total);
  segment.allocated_size = static_cast<std::int64_t>(from.allocated);
  segment.allocated_size = static_cast<std::int64_t>(from.allocated);
  segment.active_size = static_cast<std::int64_t>(from.active);
  segment.is_expandable = from.is_expandable;
  segment.pool = {static_cast<std::int64_t>(from.pool.first), static_cast<std::int64_t>(from.pool.second)};
  for (const allocator::StateBlock& block : from.blocks) segment.blocks.push_back(block_of(block, before));
  return segment;
}

}  // namespace

std::optional<std::size_t> last_failure(const model::Snapshot& snapshot, int device) {
  const auto index = static_cast<std::size_t>(device);
  if (device < 0 || index >= snapshot.traces.size()) return std::nullopt;
  const auto& trace = snapshot.traces[index];
  for (std::size_t entry = trace.size(); entry-- > 0;) {
    if (trace[entry].action == model::TraceAction::kOom) return entry;
  }
  return std::nullopt;
}

std::vector<model::Segment> segments_at(const model::Snapshot& snapshot, int device, std::size_t at) {
  const allocator::Before before = allocator::state_before(snapshot, device, allocator::Settings{}, at + 1);
  std::vector<model::Segment> segments;
  for (const allocator::StateSegment& segment : before.state.segments) {
    segments.push_back(segment_of(segment, device, before));
  }
  return segments;
}

}  // namespace vramfit::doctor
