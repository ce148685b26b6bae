#include "report/sweep_map.h"

#include <gtest/gtest.h>

#include "report/sweep_text.h"
#include "report/testing/sweeps.h"

namespace vramfit::report {
namespace {

using testing::matrix;
using testing::search;

//   fits   fits ¦ unsure
//        +------+------
//   fits |  OOM    OOM
//   -----+
//   OOM    ?     failed
TEST(SweepMap, the_border_runs_between_what_fits_and_what_does_not) {
  const model::SweepResult sweep = matrix();
  const auto maps = build_maps(sweep);
  ASSERT_EQ(maps.size(), 1u);
  EXPECT_EQ(maps[0].title, "");
  EXPECT_EQ(maps[0].at(2, 1).trial, nullptr) << "it was not run";
  const std::vector<BorderEdge> expected = {
      {0, 1, true, false}, {0, 1, false, true}, {0, 2, false, false}, {1, 0, true, true}, {1, 0, false, true}};
  EXPECT_EQ(find_border(maps[0]), expected);
}

TEST(SweepMap, further_variables_make_a_map_each) {
  model::SweepResult sweep = matrix();
  sweep.spec.variables.insert(sweep.spec.variables.begin(), {"amp", {"off", "bf16"}});
  for (model::Trial& trial : sweep.trials) trial.values.insert(trial.values.begin(), "bf16");
  const auto maps = build_maps(sweep);
  ASSERT_EQ(maps.size(), 2u);
  EXPECT_EQ(maps[0].title, "amp=off");
  EXPECT_EQ(maps[0].at(0, 0).trial, nullptr);
  EXPECT_TRUE(find_border(maps[0]).empty());
  EXPECT_EQ(maps[1].at(0, 0).trial, &sweep.trials[0]);
}

TEST(SweepMap, one_variable_has_a_line_and_no_map) {
  model::SweepResult sweep = matrix();
  sweep.spec.variables = {{"amp", {"off", "fp16", "bf16"}}};
  sweep.trials = {testing::trial_of({"off"}, "out_of_memory", 7), testing::trial_of({"bf16"}, "fits", 5),
                  testing::trial_of({"fp16"}, "fits", 6)};
  EXPECT_TRUE(build_maps(sweep).empty());
  const auto lines = build_lines(sweep);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_FALSE(lines[0].is_numeric);
  EXPECT_EQ(lines[0].points[1].value, "fp16") << "words stay in the order asked for";
  EXPECT_EQ(find_border(lines[0]), (std::vector<std::size_t>{0}));
}

TEST(SweepMap, a_search_has_a_line_for_each_combination_by_number) {
  model::SweepResult sweep = search();
  std::swap(sweep.trials[0], sweep.trials[2]);
  const auto lines = build_lines(sweep);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].title, "amp=off");
  std::vector<std::string> values;
  for (const SweepPoint& point : lines[0].points) values.push_back(point.value);
  EXPECT_EQ(values, (std::vector<std::string>{"1", "8", "12", "13", "16", "64"}));
  EXPECT_EQ(find_border(lines[0]), (std::vector<std::size_t>{2})) << "what failed has no side";
  EXPECT_EQ(lines[1].largest->too_large, 1);
}

TEST(SweepMap, a_search_over_two_variables_maps_what_it_found) {
  model::SweepResult sweep = search();
  sweep.spec.variables.insert(sweep.spec.variables.begin(), {"gpu", {"a"}});
  for (model::Trial& trial : sweep.trials) trial.values.insert(trial.values.begin(), "a");
  for (model::Largest& largest : sweep.largest) largest.values.insert(largest.values.begin(), "a");
  const auto maps = build_maps(sweep);
  ASSERT_EQ(maps.size(), 1u);
  EXPECT_EQ(maps[0].at(0, 0).trial->values.back(), "12");
  EXPECT_EQ(maps[0].at(0, 1).trial->values.back(), "1");
  EXPECT_TRUE(find_border(maps[0]).empty());
  const std::string text = sweep_to_text(sweep);
  EXPECT_NE(text.find("The largest batch that fits"), std::string::npos) << text;
  EXPECT_NE(text.find("gpu \\ amp  off  bf16\n  a           12   OOM"), std::string::npos) << text;
}

TEST(SweepMap, a_wide_map_goes_on_below_in_80_columns) {
  model::SweepResult sweep = matrix();
  for (int i = 0; i < 9; ++i) sweep.spec.variables[1].values.push_back("a-rather-long-value-" + std::to_string(i));
  const std::string text = sweep_to_text(sweep);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 80u + 4) << text.substr(begin, end - begin);  // an ellipsis has three bytes
    begin = end + 1;
  }
  EXPECT_NE(text.find("a-rath"), std::string::npos) << text;
  EXPECT_NE(text.find("lue-8"), std::string::npos) << text;
}

}  // namespace
}  // namespace vramfit::report
