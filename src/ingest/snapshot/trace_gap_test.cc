#include "ingest/snapshot/trace_gap.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "ingest/snapshot/reader.h"

namespace vramfit::ingest {
namespace {

using model::TraceAction;

const std::filesystem::path kFixtures = std::filesystem::path(VRAMFIT_SOURCE_DIR) / "fixtures" / "snapshots";

TEST(TraceGap, a_recording_from_the_start_is_complete) {
  for (const char* name : {"torch-2.6.0.pickle", "torch-2.12.1.pickle", "torch-2.12.1-expandable.pickle"}) {
    const auto snapshot = read_snapshot(kFixtures / name);
    ASSERT_TRUE(snapshot);
    const auto gaps = find_trace_gaps(*snapshot);
    ASSERT_EQ(gaps.size(), 1u) << name;
    EXPECT_TRUE(gaps[0].is_complete()) << name << ": " << gaps[0].unseen_blocks << " blocks, " << gaps[0].unseen_frees
                                       << " frees, " << gaps[0].unseen_segments << " segments";
    EXPECT_GT(gaps[0].first_time_us, 0);
    EXPECT_LE(gaps[0].first_time_us, gaps[0].last_time_us);
  }
}

TEST(TraceGap, a_ring_buffer_that_went_round_lost_the_first_blocks) {
  const auto snapshot = read_snapshot(kFixtures / "torch-2.12.1-ring.pickle");
  ASSERT_TRUE(snapshot);
  const auto gaps = find_trace_gaps(*snapshot);
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].entries, 6);
  EXPECT_GT(gaps[0].unseen_blocks, 0);
  EXPECT_GE(gaps[0].unseen_block_bytes, 24 << 20) << "the tensor of 24 MiB came before";
  EXPECT_GT(gaps[0].unseen_segments, 0);
}

TEST(TraceGap, what_was_freed_or_unmapped_in_part_is_followed) {
  model::Snapshot snapshot;
  snapshot.traces = {{},
                     {{.addr = 0x900, .action = TraceAction::kFreeCompleted},
                      {.addr = 0x1000, .size = 0x3000, .action = TraceAction::kSegmentMap},
                      {.addr = 0x1000, .size = 0x800, .action = TraceAction::kAlloc},
                      {.addr = 0x2000, .size = 0x1000, .action = TraceAction::kSegmentUnmap}}};
  const model::Block seen{.address = 0x1000, .size = 0x800, .state = model::BlockState::kActiveAllocated};
  const model::Block unseen{.address = 0x3000, .size = 0x800, .state = model::BlockState::kActivePendingFree};
  snapshot.segments = {{.device = 1, .address = 0x1000, .total_size = 0x1000, .blocks = {seen}},
                       {.device = 1, .address = 0x3000, .total_size = 0x1000, .blocks = {unseen}},
                       {.device = 1, .address = 0x1800, .total_size = 0x1000},
                       {.device = 2, .address = 0x8000, .total_size = 0x1000}};
  const auto gaps = find_trace_gaps(snapshot);
  ASSERT_EQ(gaps.size(), 2u);
  EXPECT_EQ(gaps[0].device, 1);
  EXPECT_EQ(gaps[0].unseen_frees, 1);
  EXPECT_EQ(gaps[0].unseen_blocks, 1);
  EXPECT_EQ(gaps[0].unseen_block_bytes, 0x800);
  EXPECT_EQ(gaps[0].unseen_segments, 1) << "0x1800 reaches into what was unmapped";
  EXPECT_EQ(gaps[1].device, 2);
  EXPECT_EQ(gaps[1].unseen_segments, 1) << "no trace at all";
}

}  // namespace
}  // namespace vramfit::ingest
