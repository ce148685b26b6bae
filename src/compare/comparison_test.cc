#include "compare/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compare/testing/streams.h"

namespace vramfit::compare {
namespace {

using model::Agreement;
using model::CheckCause;
using model::CheckResult;
using model::TraceAction;

constexpr std::int64_t kMib = 1 << 20;

bool says(const CheckResult& result, CheckCause cause, const std::string& words) {
  return std::ranges::any_of(result.causes, [&](const model::CheckReason& reason) {
    return reason.cause == cause && reason.text.contains(words);
  });
}

// A step of a small network, whose blocks have these sizes.
EventStream step(std::int64_t scale) {
  EventStream stream = stream_of({"S20971520"});
  stream.has_places = true;
  stream.begin = {0, 0, 0};
  stream.callers.push_back({"train.py:12 step", "", false});
  std::uint64_t address = 0;
  for (const std::int64_t size : {2, 3, 5, 7}) {
    stream.events.push_back({TraceAction::kAlloc, 0, 1, size * scale * kMib, address});
    address += static_cast<std::uint64_t>(size * kMib);
  }
  for (const std::int64_t size : {7, 5, 3, 2}) {
    stream.events.push_back({TraceAction::kFreeCompleted, 0, 1, size * scale * kMib, 0});
  }
  return stream;
}

TEST(Comparison, a_run_that_repeats_its_recording) {
  const CheckResult result = compare(step(1), step(1));
  EXPECT_EQ(result.agreement, Agreement::kSame);
  EXPECT_EQ(result.text, "8 of 8 events the same, in order");
  EXPECT_EQ(result.same_places, 4);
  EXPECT_EQ(result.places, 4);
  EXPECT_EQ(result.same_segments, 1);
  EXPECT_TRUE(result.causes.empty());
  EXPECT_TRUE(std::ranges::all_of(result.figures, &model::CheckFigure::is_same));
}

TEST(Comparison, the_first_event_that_differs_is_told_with_both_sizes_and_the_line) {
  EventStream run = step(1);
  run.events[2].size += 512;
  const CheckResult result = compare(step(1), run);
  EXPECT_EQ(result.agreement, Agreement::kDifferent);
  ASSERT_FALSE(result.differences.empty());
  const model::CheckDifference& first = result.differences.front();
  EXPECT_EQ(first.recorded_at, 2);
  EXPECT_EQ(first.recorded, (model::CheckEvent{"alloc", base::Bytes(3 * kMib), "train.py:12 step"}));
  EXPECT_EQ(first.virtual_run->size, base::Bytes(3 * kMib + 512));
  EXPECT_TRUE(says(result, CheckCause::kNotKnown, "not known"));
}

TEST(Comparison, frees_in_another_order_are_a_reordering) {
  EventStream run = step(1);
  std::swap(run.events[5], run.events[6]);
  const CheckResult result = compare(step(1), run);
  EXPECT_EQ(result.agreement, Agreement::kReordered);
  EXPECT_TRUE(result.differences.front().is_reordering);
  EXPECT_TRUE(says(result, CheckCause::kReordering, "1 events come in another order"));
}

TEST(Comparison, another_batch_size_is_a_ratio) {
  const CheckResult result = compare(step(3), step(2));
  EXPECT_TRUE(says(result, CheckCause::kScaled, "1.5 times as large in the recording"));
}

TEST(Comparison, a_package_that_asks_for_more_is_named) {
  EventStream run = step(1);
  run.callers.push_back({"train.py:3 forward", "einx", false});
  for (int i = 0; i < 6; ++i) run.events.insert(run.events.begin() + 3, {TraceAction::kAlloc, 0, 2, 4, 0});
  const CheckResult result = compare(step(1), run);
  EXPECT_EQ(result.only_virtual, 6);
  EXPECT_TRUE(says(result, CheckCause::kPackage, "6 were asked for by einx"));
}

TEST(Comparison, workspaces_are_told_by_who_asked) {
  EventStream recorded = step(1), run = step(1);
  recorded.callers.push_back({"train.py:3 forward", "", true});
  recorded.events.insert(recorded.events.begin() + 3, {TraceAction::kAlloc, 0, 2, 100 * kMib, 0});
  const CheckResult result = compare(recorded, run);
  EXPECT_TRUE(says(result, CheckCause::kWorkspace, "1 of the 1 blocks that only one side has are workspaces"));
  EXPECT_TRUE(says(result, CheckCause::kWorkspace, "the largest of 100 MiB"));
}

TEST(Comparison, other_lines_of_one_librarys_functions_are_another_version) {
  EventStream recorded = step(1), run = step(1);
  run.events[2].size += 512;
  for (const char* function : {"a", "b", "c"}) {
    recorded.library_lines[std::string("torch/nn/modules/module.py ") + function] = {10};
    run.library_lines[std::string("torch/nn/modules/module.py ") + function] = {12};
    recorded.library_lines[std::string("numpy/core.py ") + function] = {10};
    run.library_lines[std::string("numpy/core.py ") + function] = {10, 12};
  }
  const CheckResult result = compare(recorded, run);
  EXPECT_TRUE(says(result, CheckCause::kTorchVersion, "3 of 3 of its functions"));
  EXPECT_FALSE(says(result, CheckCause::kPackage, "numpy"));
}

TEST(Comparison, a_run_that_ends_early_says_by_how_much) {
  EventStream run = step(1);
  run.events.resize(6);
  const CheckResult result = compare(step(1), run);
  EXPECT_TRUE(says(result, CheckCause::kShorter, "the virtual run ends 3 events before the recording does"));
}

TEST(Comparison, a_tail_behind_many_other_differences_is_no_early_end) {
  EventStream recorded = step(1), run = step(1);
  for (std::size_t i = 1; i < 7; ++i) run.events[i].size += 512 * static_cast<std::int64_t>(i);
  run.events.pop_back();
  EXPECT_FALSE(says(compare(recorded, run), CheckCause::kShorter, ""));
}

TEST(Comparison, small_blocks_tell_a_ratio_too) {
  EventStream recorded = step(1), run = step(1);
  for (Event& event : recorded.events) event.size = is_segment(event.action) ? event.size : event.size >> 14;
  for (Event& event : run.events) event.size = is_segment(event.action) ? event.size : (event.size >> 14) * 3 / 2;
  EXPECT_TRUE(says(compare(recorded, run), CheckCause::kScaled, "4 of 4 blocks are 0.667 times"));
}

TEST(Comparison, sums_that_differ_are_not_the_same_however_the_events_agree) {
  EventStream recorded = step(1);
  recorded.begin.live = 20 * kMib;
  const CheckResult result = compare(recorded, step(1));
  EXPECT_EQ(result.agreement, Agreement::kDifferent);
  EXPECT_NE(result.text.find("what is allocated differs"), std::string::npos) << result.text;
  EXPECT_FALSE(result.causes.empty());
}

TEST(Comparison, nothing_is_denied_that_was_not_looked_at) {
  EventStream run = step(1);
  run.events[2].size += 512;
  const CheckResult result = compare(step(1), run);
  EXPECT_TRUE(says(result, CheckCause::kNotKnown, "ratio of sizes"));
  EXPECT_FALSE(says(result, CheckCause::kNotKnown, "settings"));
  EXPECT_FALSE(says(result, CheckCause::kNotKnown, "packages"));
}

TEST(Comparison, settings_that_differ_are_named) {
  EventStream recorded = step(1), run = step(1);
  recorded.settings.emplace().conf = "max_split_size_mb:128";
  run.settings.emplace();
  run.events[0].size += kMib;
  EXPECT_TRUE(says(compare(recorded, run), CheckCause::kSettings, "recorded with max_split_size_mb:128"));
}

TEST(Comparison, blocks_elsewhere_under_another_order_of_addresses) {
  EventStream recorded, run;
  for (EventStream* stream : {&recorded, &run}) {
    stream->has_places = true;
    stream->begin = {0, 0, 0};
    for (std::uint64_t i = 0; i < 5; ++i) {
      const std::uint64_t packed = 0x502000000 + i * 20 * kMib, chunks = 0x7f0000000000 - i * 32 * kMib;
      stream->events.push_back({TraceAction::kSegmentAlloc, 0, 0, 20 * kMib, stream == &recorded ? packed : chunks});
    }
  }
  // Both lie at the lowest address: the first segment that is packed, the last one of the chunks.
  recorded.events.push_back({TraceAction::kAlloc, 0, 0, kMib, 0x502000000});
  recorded.events.push_back({TraceAction::kAlloc, 0, 0, kMib, 0x502000000 + 20 * kMib});
  run.events.push_back({TraceAction::kAlloc, 0, 0, kMib, 0x7f0000000000 - 128 * kMib});
  run.events.push_back({TraceAction::kAlloc, 0, 0, kMib, 0x7f0000000000 - 128 * kMib + kMib});
  const CheckResult result = compare(recorded, run);
  EXPECT_EQ(result.agreement, Agreement::kSame);
  EXPECT_EQ(result.same_places, 1);
  EXPECT_EQ(result.places, 2);
  EXPECT_TRUE(says(result, CheckCause::kAddressOrder, "--address-order wsl"));
}

TEST(Comparison, nothing_to_compare_is_not_the_same) {
  EXPECT_EQ(compare(step(1), EventStream()).agreement, Agreement::kNotCompared);
  EXPECT_EQ(compare(EventStream(), step(1)).agreement, Agreement::kNotCompared);
}

}  // namespace
}  // namespace vramfit::compare
