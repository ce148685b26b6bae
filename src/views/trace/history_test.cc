#include "views/trace/history.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "ingest/snapshot/reader.h"
#include "views/trace/testing/snapshots.h"

namespace vramfit::views::report_trace {

using model::TraceAction;
using testing::kMib;
using testing::Recording;

TEST(History, a_block_lives_from_its_allocation_to_the_end_of_its_free_and_counts_until_it_was_asked_for) {
  Recording recording;
  recording.entry(TraceAction::kSegmentAlloc, 0, 20 * kMib);
  recording.entry(TraceAction::kAlloc, 0, 4 * kMib);
  recording.entry(TraceAction::kFreeRequested, 0, 4 * kMib);
  recording.entry(TraceAction::kFreeCompleted, 0, 4 * kMib);
  recording.segment(0, 20 * kMib, {});
  const History history = build_history(recording.snapshot, 0);
  ASSERT_EQ(history.tenants.size(), 1u);
  EXPECT_EQ(history.tenants[0].from, 2u);
  EXPECT_EQ(history.tenants[0].freed, 3u);
  EXPECT_EQ(history.tenants[0].to, 4u);
  EXPECT_EQ(history.allocated, (std::vector<std::int64_t>{0, 0, 4 * kMib, 0, 0}));
  EXPECT_EQ(history.reserved, (std::vector<std::int64_t>{0, 20 * kMib, 20 * kMib, 20 * kMib, 20 * kMib}));
  EXPECT_EQ(history.unmatched_entries, 0);
}

// |---- A 4 ----|------------ B 15.5 and 0.5 that are not worth splitting off ------------|
TEST(History, what_the_allocator_does_not_split_off_belongs_to_the_block) {
  Recording recording;
  recording.entry(TraceAction::kSegmentAlloc, 0, 20 * kMib);
  recording.entry(TraceAction::kAlloc, 0, 4 * kMib - 100);
  recording.entry(TraceAction::kAlloc, 4 * kMib, 15 * kMib + kMib / 2);
  recording.segment(0, 20 * kMib, {{0, 4 * kMib}, {4 * kMib, 16 * kMib}});
  const History history = build_history(recording.snapshot, 0);
  ASSERT_EQ(history.tenants.size(), 2u);
  EXPECT_EQ(history.tenants[0].size, 4u * kMib);
  EXPECT_EQ(history.tenants[0].requested, 4u * kMib - 100);
  EXPECT_EQ(history.tenants[1].size, 16u * kMib);
  EXPECT_EQ(history.final_blocks, 2);
  EXPECT_EQ(history.same_blocks, 2);
}

TEST(History, what_lived_before_the_trace_is_there_at_its_first_instant) {
  Recording recording;
  recording.entry(TraceAction::kFreeRequested, 8 * kMib, 2 * kMib);
  recording.entry(TraceAction::kFreeCompleted, 8 * kMib, 2 * kMib);
  recording.segment(0, 20 * kMib, {{0, 4 * kMib}});
  const History history = build_history(recording.snapshot, 0);
  ASSERT_EQ(history.tenants.size(), 2u);
  EXPECT_EQ(history.allocated, (std::vector<std::int64_t>{6 * kMib, 4 * kMib, 4 * kMib}));
  EXPECT_EQ(history.tenants[0].to, kNever);
  EXPECT_EQ(history.tenants[1].to, 2u);
}

TEST(History, pages_join_the_expandable_segment_beside_them_and_may_leave_its_middle) {
  Recording recording;
  recording.entry(TraceAction::kSegmentMap, 0, 20 * kMib);
  recording.entry(TraceAction::kSegmentMap, 20 * kMib, 40 * kMib);
  recording.entry(TraceAction::kSegmentUnmap, 20 * kMib, 20 * kMib);
  recording.segment(0, 20 * kMib, {}, true);
  recording.segment(40 * kMib, 20 * kMib, {}, true);
  const History history = build_history(recording.snapshot, 0);
  EXPECT_EQ(history.reserved, (std::vector<std::int64_t>{0, 20 * kMib, 60 * kMib, 40 * kMib}));
  ASSERT_EQ(history.ranges.size(), 4u);
  EXPECT_EQ(history.ranges[1].size, 60u * kMib);
  EXPECT_EQ(history.ranges[1].to, 3u);
  EXPECT_EQ(history.ranges[2].address, testing::kBase);
  EXPECT_EQ(history.ranges[3].address, testing::kBase + 40 * kMib);
  for (const Range& range : history.ranges) EXPECT_EQ(range.place, history.ranges[0].place);
}

TEST(History, entries_that_fit_nothing_are_counted_and_change_nothing) {
  Recording recording;
  recording.entry(TraceAction::kSegmentAlloc, 0, 20 * kMib);
  recording.entry(TraceAction::kAlloc, 0, 2 * kMib);
  recording.entry(TraceAction::kAlloc, 0, 2 * kMib);
  recording.entry(TraceAction::kFreeRequested, 4 * kMib, 2 * kMib);
  recording.segment(0, 20 * kMib, {{0, 2 * kMib}});
  const History history = build_history(recording.snapshot, 0);
  EXPECT_GT(history.unmatched_entries, 0);
  EXPECT_EQ(history.allocated.back(), 2 * kMib);
}

TEST(History, phases_and_metadata_name_what_was_allocated_within_them) {
  Recording recording;
  recording.annotate("outer", true, 1);
  recording.annotate("inner", true, 3);
  recording.annotate("outer", false, 5);
  recording.annotate("inner", false, 7);
  recording.entry(TraceAction::kSegmentAlloc, 0, 20 * kMib);  // at 1
  recording.entry(TraceAction::kAlloc, 0, 2 * kMib);          // at 2
  recording.entry(TraceAction::kAlloc, 2 * kMib, 2 * kMib);   // at 3
  recording.entry(TraceAction::kAnnotate, 2 * kMib, 0, "logits");
  recording.entry(TraceAction::kAlloc, 4 * kMib, 2 * kMib);            // at 5
  recording.entry(TraceAction::kAlloc, 6 * kMib, 2 * kMib);            // at 6
  recording.entry(TraceAction::kAlloc, 8 * kMib, 2 * kMib, "set by");  // at 7
  recording.segment(0, 20 * kMib, {{0, 10 * kMib}});
  const History history = build_history(recording.snapshot, 0);
  const auto label = [&](std::size_t tenant) {
    std::string text;
    for (std::uint32_t node = history.tenants[tenant].label; node != 0; node = history.labels[node].parent) {
      text = history.labels[node].text + (text.empty() ? "" : " > ") + text;
    }
    return text;
  };
  ASSERT_EQ(history.tenants.size(), 5u);
  EXPECT_EQ(label(0), "outer");
  EXPECT_EQ(label(1), "outer > inner > logits");
  EXPECT_EQ(label(2), "outer > inner");
  EXPECT_EQ(label(3), "outer > inner");
  EXPECT_EQ(label(4), "set by");
}

TEST(History, an_oom_keeps_what_was_tried_and_what_was_left) {
  Recording recording;
  recording.entry(TraceAction::kSegmentAlloc, 0, 20 * kMib);
  recording.entry(TraceAction::kOom, 0, 64 * kMib);
  recording.segment(0, 20 * kMib, {});
  const History history = build_history(recording.snapshot, 0);
  ASSERT_EQ(history.ooms.size(), 1u);
  EXPECT_EQ(history.ooms[0].at, 2u);
  EXPECT_EQ(history.ooms[0].tried, 64 * kMib);
}

TEST(History, a_snapshot_without_a_trace_has_one_instant) {
  Recording recording;
  recording.segment(0, 20 * kMib, {{0, 4 * kMib}});
  recording.snapshot.traces.clear();
  const History history = build_history(recording.snapshot, 0);
  EXPECT_EQ(history.last(), 0u);
  EXPECT_EQ(history.allocated, std::vector<std::int64_t>{4 * kMib});
}

// Recorded from the real allocator of each release: every block in use at the end must be found at its place and size.
TEST(History, recordings_of_every_release_end_where_their_snapshots_say) {
  const std::filesystem::path folder = std::filesystem::path(VRAMFIT_SOURCE_DIR) / "fixtures" / "snapshots";
  int seen = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    if (file.path().extension() != ".pickle" || name.find("by-hand") != std::string::npos) continue;
    const auto snapshot = ingest::read_snapshot(file.path());
    ASSERT_TRUE(snapshot) << name;
    const History history = build_history(*snapshot, 0);
    EXPECT_EQ(history.same_blocks, history.final_blocks) << name;
    EXPECT_EQ(history.unmatched_entries, 0) << name;
    std::int64_t reserved = 0, allocated = 0;
    for (const model::Segment& segment : snapshot->segments) {
      reserved += segment.total_size;
      allocated += segment.allocated_size;
    }
    EXPECT_EQ(history.reserved.back(), reserved) << name;
    EXPECT_EQ(history.allocated.back(), allocated) << name;
    ++seen;
  }
  EXPECT_GE(seen, 9);
}

}  // namespace vramfit::views::report_trace
