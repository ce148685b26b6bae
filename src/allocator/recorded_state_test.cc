#include "allocator/recorded_state.h"

#include <gtest/gtest.h>

#include "allocator/testing/sizes.h"
#include "allocator/testing/trace.h"

namespace vramfit::allocator {
namespace {

constexpr std::uint64_t kBase = std::uint64_t{0x7f} << 36;

//   at the end   [ live 4 | free 16 ]          before the trace   [ live 4 | live 9 | free 7 ]   [ live 2 ]
model::Snapshot one_segment() {
  model::Snapshot snapshot;
  model::Segment segment;
  segment.address = kBase;
  segment.total_size = 20 * kMib;
  segment.allocated_size = segment.active_size = 4 * kMib;
  segment.is_large = true;
  segment.blocks = {{kBase, 4 * kMib, 4 * kMib, model::StackId::kNone, 0, model::BlockState::kActiveAllocated},
                    {kBase + 4 * kMib, 16 * kMib, 0, model::StackId::kNone, 0, model::BlockState::kInactive}};
  snapshot.segments = {segment};
  return snapshot;
}

TEST(RecordedState, the_end_is_the_snapshots_own_segments) {
  const AllocatorState state = state_of(one_segment(), 0);
  ASSERT_EQ(state.segments.size(), 1U);
  EXPECT_EQ(state.segments[0].kind, PoolKind::kLarge);
  EXPECT_EQ(state.segments[0].blocks[1].state, BlockState::kInactive);
  EXPECT_TRUE(state_of(one_segment(), 1).segments.empty()) << "of another card";
}

TEST(RecordedState, a_free_undone_is_a_live_block_and_a_released_segment_is_back) {
  model::Snapshot snapshot = one_segment();
  const std::uint64_t small = kBase + (std::uint64_t{1} << 30);
  add(snapshot, model::TraceAction::kFreeRequested, kBase + 4 * kMib, 9 * kMib);
  add(snapshot, model::TraceAction::kFreeCompleted, kBase + 4 * kMib, 9 * kMib);
  add(snapshot, model::TraceAction::kFreeRequested, small, kMib);
  add(snapshot, model::TraceAction::kFreeCompleted, small, kMib);
  add(snapshot, model::TraceAction::kSegmentFree, small, 2 * kMib);
  const Before before = state_before(snapshot, 0, Settings{});
  EXPECT_EQ(before.unmatched_entries, 0);
  ASSERT_EQ(before.slots.size(), 3U);
  ASSERT_EQ(before.state.segments.size(), 2U);
  EXPECT_EQ(before.state.segments[0].allocated, 13U * kMib);
  EXPECT_EQ(before.state.segments[1].address, small);
  EXPECT_EQ(before.state.segments[1].kind, PoolKind::kSmall) << "2 MiB";
  EXPECT_EQ(before.state.segments[1].allocated, static_cast<std::uint64_t>(kMib));
}

TEST(RecordedState, a_segment_made_in_the_trace_was_not_there_before) {
  model::Snapshot snapshot = one_segment();
  add(snapshot, model::TraceAction::kSegmentAlloc, kBase, 20 * kMib);
  add(snapshot, model::TraceAction::kAlloc, kBase, 4 * kMib);
  EXPECT_TRUE(state_before(snapshot, 0, Settings{}).state.segments.empty());
}

TEST(RecordedState, entries_that_fit_nothing_are_counted) {
  model::Snapshot snapshot = one_segment();
  add(snapshot, model::TraceAction::kAlloc, kBase + 8 * kMib, kMib);
  add(snapshot, model::TraceAction::kSegmentAlloc, kBase + (std::uint64_t{1} << 40), 2 * kMib);
  EXPECT_EQ(state_before(snapshot, 0, Settings{}).unmatched_entries, 2);
}

}  // namespace
}  // namespace vramfit::allocator
