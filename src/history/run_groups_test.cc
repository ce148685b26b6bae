#include "history/run_groups.h"

#include <gtest/gtest.h>

namespace vramfit::history {
namespace {

using base::Bytes;
using model::StoredRun;

StoredRun run_of(std::int64_t number, const std::string& script, std::int64_t peak_mib,
                 std::vector<std::string> tags = {}) {
  StoredRun run{.number = number, .state = model::RunState::kEnded, .tags = std::move(tags)};
  run.start.folder = "/data/me";
  run.start.script = script;
  run.start.command = {"python", script};
  run.end.verdict = "fits";
  if (peak_mib >= 0) run.end.devices = {{.name = "a card", .index = 0}};
  if (peak_mib > 0) run.end.devices.front().device = Bytes::mib(peak_mib);
  return run;
}

//   newest first: 4 a, 3 b, 2 a (told no peak), 1 a        a: 1, 2, 4    b: 3
TEST(RunGroups, peaks_of_a_script_are_in_order_of_time_and_unknown_ones_stay_unknown) {
  std::vector<StoredRun> runs = {run_of(4, "/data/me/a.py", 40), run_of(3, "b.py", 30), run_of(2, "a.py", 0),
                                 run_of(1, "a.py", 10)};
  runs[0].end.verdict = "out_of_memory";
  const auto peaks = peaks_by_script(runs);
  ASSERT_EQ(peaks.series.size(), 2u) << "a.py of its folder is /data/me/a.py";
  EXPECT_EQ(peaks.series_of, (std::vector<std::size_t>{0, 1, 0, 0}));
  EXPECT_EQ(peaks.series[0].title, "a.py");
  EXPECT_EQ(
      peaks.series[0].points,
      (std::vector<model::PeakPoint>{{1, Bytes::mib(10), false}, {2, std::nullopt, false}, {4, Bytes::mib(40), true}}));
}

TEST(RunGroups, jobs_without_a_file_are_told_apart_by_their_command) {
  std::vector<StoredRun> runs = {run_of(3, "", 1), run_of(2, "", 1), run_of(1, "", 1)};
  runs[0].start.command = runs[2].start.command = {"python", "-m", "train"};
  runs[1].start.command = {"python", "-m", "test"};
  const auto groups = group_runs(runs, GroupBy::kScript);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].title, "python -m train");
  EXPECT_EQ(groups[0].runs, (std::vector<std::size_t>{0, 2}));
}

TEST(RunGroups, a_run_is_in_the_group_of_each_of_its_tags_and_none_is_lost) {
  const std::vector<StoredRun> runs = {run_of(3, "a.py", 1), run_of(2, "a.py", 2, {"paper", "try"}),
                                       run_of(1, "a.py", 3, {"paper"})};
  const auto groups = group_runs(runs, GroupBy::kTag);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].title, "paper");
  EXPECT_EQ(groups[0].runs, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(groups[1].title, "try");
  EXPECT_EQ(groups[2].runs, (std::vector<std::size_t>{0})) << "those without a tag come last";
  EXPECT_TRUE(group_runs(runs, GroupBy::kNothing).empty());
}

TEST(RunGroups, words_of_groupings) {
  EXPECT_EQ(parse_group_by(""), GroupBy::kNothing);
  EXPECT_EQ(parse_group_by("tag"), GroupBy::kTag);
  EXPECT_EQ(parse_group_by("script"), GroupBy::kScript);
  EXPECT_FALSE(parse_group_by("colour"));
}

}  // namespace
}  // namespace vramfit::history
