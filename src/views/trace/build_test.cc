#include "views/trace/build.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "report/page/trace_section.h"
#include "views/trace/curve.h"
#include "views/trace/stacks.h"
#include "views/trace/tables.h"
#include "views/trace/testing/snapshots.h"

namespace vramfit::views::report_trace {

using model::TraceAction;
using testing::kMib;
using testing::Recording;

namespace {

// `steps` times: eight blocks of 2 to 9 MiB come and go again; small ones of 2 KiB stay with them as long.
Recording train(int steps) {
  Recording recording;
  recording.entry(TraceAction::kSegmentAlloc, 0, 64 * kMib);
  recording.entry(TraceAction::kSegmentAlloc, 100 * kMib, 2 * kMib);
  for (int step = 0; step < steps; ++step) {
    std::vector<std::pair<std::int64_t, std::int64_t>> live;
    std::int64_t at = 0;
    for (int i = 0; i < 8; ++i) {
      live.emplace_back(at, (2 + i) * kMib);
      at += live.back().second;
      live.emplace_back(100 * kMib + i * 2048, 2048);
    }
    for (const auto& [offset, size] : live) recording.entry(TraceAction::kAlloc, offset, size);
    for (const auto& [offset, size] : live) {
      recording.entry(TraceAction::kFreeRequested, offset, size);
      recording.entry(TraceAction::kFreeCompleted, offset, size);
    }
  }
  recording.segment(0, 64 * kMib, {});
  recording.segment(100 * kMib, 2 * kMib, {});
  recording.snapshot.segments.back().is_large = false;
  return recording;
}

report::page::CardTrace card_of(const Recording& recording, Budget budget = {}, bool is_confidential = false) {
  const auto facts = build_trace(recording.snapshot, {"s.pickle", is_confidential, budget}, base::silent_progress());
  return facts.cards.at(0);
}

// What a page says of a stop, kept singly and as sums.
std::int64_t told_bytes(const report::page::CardTrace& card, std::uint32_t stop) {
  std::int64_t bytes = card.stops[stop].small_bytes;
  for (const report::page::MapBlock& block : card.blocks) {
    if (block.from_stop <= stop && stop < block.freed_stop) bytes += static_cast<std::int64_t>(block.size);
  }
  return bytes;
}

}  // namespace

TEST(Trace, a_short_one_is_shown_at_every_instant_and_block_by_block) {
  const auto card = card_of(train(3));
  EXPECT_TRUE(card.has_all_stops);
  EXPECT_EQ(card.least_kept, 0u);
  EXPECT_EQ(card.levels.back().entries_per_bucket, 1);
  ASSERT_EQ(card.stops.size(), static_cast<std::size_t>(card.entries) + 1);
  for (std::uint32_t stop = 0; stop < card.stops.size(); ++stop) {
    EXPECT_EQ(told_bytes(card, stop), card.stops[stop].allocated) << stop;
  }
  EXPECT_EQ(card.stops[card.peak_stop].allocated, 44 * kMib + 8 * 2048);
}

// The bounds hold, what is left out is in the sums, and the peak is among the stops.
TEST(Trace, a_long_one_keeps_within_its_budget_and_adds_up_at_every_stop) {
  const Budget budget{.whole_stops = 100, .stops = 64, .blocks = 300, .sums = 500, .buckets = 8192};
  const auto card = card_of(train(1000), budget);
  EXPECT_FALSE(card.has_all_stops);
  EXPECT_LE(card.stops.size(), 64u + 3);
  EXPECT_LE(card.blocks.size(), budget.blocks);
  EXPECT_LE(card.small.size(), budget.sums);
  EXPECT_GT(card.least_kept, 0u);
  EXPECT_LE(card.levels.back().allocated_most.size(), budget.buckets);
  EXPECT_EQ(card.stops[card.peak_stop].allocated, 44 * kMib + 8 * 2048);
  for (std::uint32_t stop = 0; stop < card.stops.size(); ++stop) {
    const std::int64_t waiting = told_bytes(card, stop) - card.stops[stop].allocated;
    EXPECT_GE(waiting, 0) << stop;
    EXPECT_LE(waiting, 9 * kMib) << "one free at most is on its way";
  }
}

TEST(Trace, the_blocks_of_the_peak_are_kept_however_small) {
  const Budget budget{.whole_stops = 100, .stops = 64, .blocks = 300, .sums = 500};
  const auto card = card_of(train(1000), budget);
  EXPECT_EQ(card.stops[card.peak_stop].small_blocks, 0);
}

TEST(Trace, sums_that_would_be_too_many_forget_where_they_lie_but_still_add_up) {
  const Budget budget{.whole_stops = 100, .stops = 64, .blocks = 0, .sums = 0};
  const auto card = card_of(train(1000), budget);
  EXPECT_TRUE(card.blocks.empty());
  EXPECT_TRUE(std::ranges::all_of(card.small, [](const auto& sum) { return sum.place == 0; }));
  EXPECT_GE(card.stops[card.peak_stop].small_bytes, 44 * kMib);
}

TEST(Trace, a_coarse_curve_loses_no_extreme) {
  const Recording recording = train(1000);
  const History history = build_history(recording.snapshot, 0);
  for (const auto& level : build_curve(history, recording.snapshot.traces[0], 8192)) {
    const auto most = std::ranges::max(level.allocated_most);
    EXPECT_EQ(std::int64_t{most} * 512, std::ranges::max(history.allocated)) << level.entries_per_bucket;
    EXPECT_EQ(std::ranges::min(level.allocated_least), 0u);
    EXPECT_EQ(level.allocated_most.size(), level.begins.size());
    const auto per_bucket = static_cast<std::size_t>(level.entries_per_bucket);
    EXPECT_EQ(level.allocated_most.size(), (history.allocated.size() + per_bucket - 1) / per_bucket);
  }
}

TEST(Trace, segments_are_described_with_their_holes) {
  Recording recording;
  recording.entry(TraceAction::kSegmentAlloc, 0, 20 * kMib);
  recording.entry(TraceAction::kAlloc, 0, 2 * kMib);
  recording.entry(TraceAction::kAlloc, 2 * kMib, 6 * kMib);
  recording.entry(TraceAction::kAlloc, 8 * kMib, 4 * kMib);
  recording.entry(TraceAction::kFreeRequested, 2 * kMib, 6 * kMib);
  recording.entry(TraceAction::kFreeCompleted, 2 * kMib, 6 * kMib);
  recording.entry(TraceAction::kFreeRequested, 0, 2 * kMib);
  recording.segment(0, 20 * kMib, {{8 * kMib, 4 * kMib}});
  recording.snapshot.segments[0].blocks.insert(
      recording.snapshot.segments[0].blocks.begin(),
      {.address = testing::kBase, .size = 2 * kMib, .state = model::BlockState::kActivePendingFree});
  const auto rows = describe_segments(build_history(recording.snapshot, 0), 7);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].group, "large pool, default stream");
  EXPECT_EQ(rows[0].allocated, 4 * kMib);
  EXPECT_EQ(rows[0].waiting, 2 * kMib);
  EXPECT_EQ(rows[0].free, 14 * kMib);
  EXPECT_EQ(rows[0].largest_hole, 8 * kMib);
  EXPECT_EQ(rows[0].blocks, 2);
}

TEST(Trace, stacks_share_their_outer_frames_and_end_early_when_the_tree_is_full) {
  model::Snapshot snapshot;
  const auto main = snapshot.add_frame("train.py", "main", 1), one = snapshot.add_frame("net.py", "one", 2),
             two = snapshot.add_frame("net.py", "two", 3);
  const auto first = snapshot.add_stack(std::vector{one, main}), second = snapshot.add_stack(std::vector{two, main});
  Stacks whole(snapshot, 100, 1000);
  const auto a = whole.node_of(first), b = whole.node_of(second);
  EXPECT_EQ(whole.node_of(first), a);
  const auto tree = whole.take();
  EXPECT_EQ(tree.parent.size(), 4u);
  EXPECT_EQ(tree.parent[a], tree.parent[b]);
  EXPECT_EQ(tree.names[tree.name[a]], "one net.py:2");
  EXPECT_EQ(tree.cut_stacks, 0);
  Stacks tight(snapshot, 3, 1000);
  EXPECT_NE(tight.node_of(first), 0u);
  EXPECT_NE(tight.node_of(second), 0u) << "as far as it fits";
  EXPECT_EQ(tight.take().cut_stacks, 1);
}

TEST(Trace, a_confidential_one_has_neither_names_nor_lines_nor_phases) {
  Recording recording = train(2);
  const auto frame = recording.snapshot.add_frame("/data/secret/train.py", "secret_step", 3);
  const auto stack = recording.snapshot.add_stack(std::vector{frame});
  for (auto& entry : recording.snapshot.traces[0]) entry.stack = stack;
  recording.annotate("secret phase", true, 1);
  recording.entry(TraceAction::kOom, 0, kMib).stack = stack;
  const auto open = build_trace(recording.snapshot, {.name = "secret.pickle"}, base::silent_progress());
  EXPECT_NE(report::page::trace_section(open, 1, 2).find("secret_step"), std::string::npos);
  const auto closed = build_trace(recording.snapshot, {"secret.pickle", true, {}}, base::silent_progress());
  const std::string html = report::page::trace_section(closed, 1, 2);
  EXPECT_EQ(html.find("secret"), std::string::npos);
  EXPECT_NE(html.find("out of memory"), std::string::npos);
}

TEST(Trace, no_text_of_a_snapshot_gets_into_the_page_unescaped) {
  constexpr std::string_view kHostile = "</template><script>alert(1)</script>\n<img src=x>\"";
  Recording recording = train(1);
  const auto frame = recording.snapshot.add_frame(kHostile, kHostile, 3);
  const auto stack = recording.snapshot.add_stack(std::vector{frame});
  for (auto& entry : recording.snapshot.traces[0]) entry.stack = stack;
  recording.annotate(kHostile, true, 1);
  recording.snapshot.damage = kHostile;
  const auto facts = build_trace(recording.snapshot, {.name = std::string(kHostile)}, base::silent_progress());
  const std::string html = report::page::trace_section(facts, 1, 2);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("<img"), std::string::npos);
  std::size_t ends = 0;
  for (std::size_t at = 0; (at = html.find("</template>", at)) != std::string::npos; ++at) ++ends;
  EXPECT_EQ(ends, 1u);
}

// Every block has a stack, a phase and a size of its own, and none lives long.
TEST(Trace, a_page_stays_below_ten_megabytes_whatever_the_recording) {
  Recording recording;
  recording.entry(TraceAction::kSegmentAlloc, 0, 4000 * kMib);
  std::vector<std::int64_t> live;
  for (std::int64_t i = 0; i < 60000; ++i) {
    const std::int64_t offset = i * 2048, size = 512 + i % 3 * 512;
    auto& entry = recording.entry(TraceAction::kAlloc, offset, size, "phase number " + std::to_string(i));
    std::vector<model::FrameId> frames;
    for (int depth = 0; depth < 3; ++depth) {
      frames.push_back(recording.snapshot.add_frame("/data/somewhere/net_" + std::to_string(i) + ".py",
                                                    "forward_" + std::to_string(depth), static_cast<int>(i % 900)));
    }
    entry.stack = recording.snapshot.add_stack(frames);
    live.push_back(offset);
    if (i < 500) continue;
    recording.entry(TraceAction::kFreeRequested, live[static_cast<std::size_t>(i - 500)], 512);
    recording.entry(TraceAction::kFreeCompleted, live[static_cast<std::size_t>(i - 500)], 512);
  }
  const auto facts = build_trace(recording.snapshot, {.name = "s"}, base::silent_progress());
  EXPECT_GT(facts.cards.at(0).stacks.cut_stacks, 0);
  const std::size_t bytes = report::page::trace_section(facts, 1, 2).size();
  EXPECT_LT(bytes, 10'000'000u);
  EXPECT_GT(bytes, 2'000'000u);
}

TEST(Trace, several_cards_share_the_budget) {
  Recording recording = train(100);
  recording.snapshot.traces.push_back(recording.snapshot.traces[0]);
  const auto facts = build_trace(recording.snapshot, {"s", false, {.blocks = 400}}, base::silent_progress());
  ASSERT_EQ(facts.cards.size(), 2u);
  for (const auto& card : facts.cards) EXPECT_LE(card.blocks.size(), 200u);
}

}  // namespace vramfit::views::report_trace
