#include "allocator/replay.h"

#include <gtest/gtest.h>

#include "allocator/attribution.h"
#include "allocator/search.h"
#include "allocator/testing/sizes.h"
#include "allocator/testing/trace.h"

namespace vramfit::allocator {
namespace {

constexpr std::uint64_t kReplayedBase = std::uint64_t{0x7f} << 36;

// The free memory lies in two places, and neither has room for what is asked last.
//
//   64 MiB card   [ 16 live ] [ 4 live | 16 free ]   28 free on the card   then 40 MiB are asked for
model::Snapshot fragmented() {
  model::Snapshot snapshot;
  snapshot.torch_at_least = "2.6";
  add(snapshot, model::TraceAction::kSegmentAlloc, kReplayedBase, 16 * kMib);
  add(snapshot, model::TraceAction::kAlloc, kReplayedBase, 16 * kMib);
  add(snapshot, model::TraceAction::kSegmentAlloc, kReplayedBase + (1 << 30), 20 * kMib);
  add(snapshot, model::TraceAction::kAlloc, kReplayedBase + (1 << 30), 4 * kMib);
  add(snapshot, model::TraceAction::kAlloc, kReplayedBase + (1 << 30) + 4 * kMib, 9 * kMib);
  add(snapshot, model::TraceAction::kFreeRequested, kReplayedBase + (1 << 30) + 4 * kMib, 9 * kMib);
  add(snapshot, model::TraceAction::kFreeCompleted, kReplayedBase + (1 << 30) + 4 * kMib, 9 * kMib);
  add(snapshot, model::TraceAction::kOom, 28 * kMib, 40 * kMib);
  model::Segment large;
  large.address = kReplayedBase;
  large.total_size = large.allocated_size = large.active_size = 16 * kMib;
  large.is_large = true;
  large.blocks.push_back(
      {kReplayedBase, 16 * kMib, 16 * kMib, model::StackId::kNone, 0, model::BlockState::kActiveAllocated});
  model::Segment shared = large;
  shared.address = kReplayedBase + (1 << 30);
  shared.total_size = 20 * kMib;
  shared.allocated_size = shared.active_size = 4 * kMib;
  shared.blocks = {{shared.address, 4 * kMib, 4 * kMib, model::StackId::kNone, 0, model::BlockState::kActiveAllocated},
                   {shared.address + 4 * kMib, 16 * kMib, 0, model::StackId::kNone, 0, model::BlockState::kInactive}};
  snapshot.segments = {large, shared};
  return snapshot;
}

TEST(Replay, a_recording_replays_to_its_own_segments) {
  const auto own = find_own_rules(fragmented(), 0, std::nullopt);
  ASSERT_TRUE(own);
  EXPECT_TRUE(own->proof.is_same) << (own->proof.differences.empty() ? "" : own->proof.differences[0]);
  EXPECT_EQ(own->proof.blocks, 2);
  EXPECT_EQ(own->program.capacity, 64U * kMib) << "36 reserved and 28 free";
  EXPECT_EQ(own->program.seeded_blocks, 0);
}

TEST(Replay, the_recorded_oom_happens_again_and_other_settings_avoid_it) {
  const auto own = find_own_rules(fragmented(), 0, std::nullopt);
  ReplayOptions options{.rules = own->rules, .settings = own->settings, .capacity = own->program.capacity};
  options.keeps_worst_state = true;
  const ReplayRun as_it_was = replay(own->program, options);
  EXPECT_FALSE(as_it_was.fits);
  EXPECT_EQ(as_it_was.oom->tried_bytes, 40U * kMib);
  EXPECT_EQ(as_it_was.oom_entry, 7U);
  options.settings.expandable_segments = true;
  EXPECT_TRUE(replay(own->program, options).fits);
  EXPECT_EQ(find_least_capacity(own->program, options), 60U * kMib) << "16 + 4 + 40, in pages of 20";
  const auto trials = search_settings(own->program, options, settings_grid(own->settings, own->rules), {},
                                      [](std::size_t, std::size_t) {});
  EXPECT_TRUE(trials.front().run.fits);
  EXPECT_FALSE(trials.back().run.fits);
}

TEST(Replay, what_the_ring_buffer_lost_is_put_back) {
  model::Snapshot snapshot = fragmented();
  snapshot.traces[0].erase(snapshot.traces[0].begin(), snapshot.traces[0].begin() + 4);
  const auto own = find_own_rules(snapshot, 0, std::nullopt);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->program.seeded_blocks, 2);
  EXPECT_EQ(own->program.seeded_bytes, 20 * kMib);
  EXPECT_TRUE(own->proof.is_same) << (own->proof.differences.empty() ? "" : own->proof.differences[0]);
}

TEST(Replay, a_snapshot_without_a_trace_is_refused) {
  const auto own = find_own_rules(model::Snapshot{}, 0, std::nullopt);
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().code, base::ErrorCode::kUnsupported);
}

//   [ A 4 | free 16 ]   [ B 2 | free 4 | A 4 ]   [ free 20 ]
TEST(Attribution, holes_belong_to_those_who_keep_their_segment) {
  const auto mib = [](int count) { return static_cast<std::uint64_t>(count) * kMib; };
  AllocatorState state;
  StateSegment first{.address = mib(100), .total = mib(20), .kind = PoolKind::kLarge, .pool = {}, .blocks = {}};
  first.blocks = {{mib(100), mib(4), 0, BlockState::kActiveAllocated, 1},
                  {mib(104), mib(16), 0, BlockState::kInactive, 0}};
  StateSegment second{.address = mib(200), .total = mib(10), .kind = PoolKind::kLarge, .pool = {}, .blocks = {}};
  second.blocks = {{mib(200), mib(2), 0, BlockState::kActiveAllocated, 2},
                   {mib(202), mib(4), 0, BlockState::kInactive, 0},
                   {mib(206), mib(4), 0, BlockState::kActivePendingFree, 1}};
  StateSegment third{.address = mib(300), .total = mib(20), .kind = PoolKind::kLarge, .pool = {}, .blocks = {}};
  third.blocks = {{mib(300), mib(20), 0, BlockState::kInactive, 0}};
  state.segments = {first, second, third};
  const Attribution found = attribute(state, Settings{}, [](const StateBlock& block) { return block.tag; });
  EXPECT_EQ(found.free, mib(40));
  EXPECT_EQ(found.returnable, mib(20));
  EXPECT_EQ(found.pinned, mib(20));
  EXPECT_EQ(found.largest_hole, mib(20));
  ASSERT_EQ(found.owners.size(), 2U);
  EXPECT_EQ(found.owners[0].owner, 1U);
  EXPECT_EQ(found.owners[0].pinned_alone, mib(16));
  EXPECT_EQ(found.owners[0].pinned_shared, mib(4));
  EXPECT_EQ(found.owners[1].pinned_shared, mib(4));
  ASSERT_EQ(found.segments.size(), 2U);
  EXPECT_EQ(found.segments[1].owners, (std::vector<OwnerId>{1, 2})) << "the one with more bytes first";
}

}  // namespace
}  // namespace vramfit::allocator
