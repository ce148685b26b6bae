#include "plan/checkpointing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace vramfit::plan {
namespace {

model::ModuleBlock block(std::string name, std::int64_t saved_mib, std::int64_t output_mib, double macs = 1) {
  model::ModuleBlock result;
  result.name = std::move(name);
  result.saved = Bytes::mib(saved_mib);
  result.output = Bytes::mib(output_mib);
  result.forward_macs = macs;
  return result;
}

model::BlockLevel equal_blocks(int count) {
  model::BlockLevel level;
  for (int i = 0; i < count; ++i) level.blocks.push_back(block("layer." + std::to_string(i), 100, 10));
  return level;
}

TEST(Checkpointing, without_it_the_peak_is_the_sum) {
  EXPECT_EQ(activation_peak(equal_blocks(12).blocks, {}), Bytes::mib(1200));
}

//   block 12 in backward: 11 outputs of 10 MiB and its own 100 MiB
TEST(Checkpointing, all_of_n_equal_blocks_leave_n_outputs_and_one_block) {
  const auto level = equal_blocks(12);
  const auto sets = growing_sets(level);
  EXPECT_EQ(activation_peak(level.blocks, sets.back()), Bytes::mib(11 * 10 + 100));
}

TEST(Checkpointing, the_last_block_alone_frees_next_to_nothing) {
  const auto level = equal_blocks(4);
  EXPECT_EQ(activation_peak(level.blocks, std::vector<std::string>{"layer.3"}), Bytes::mib(400));
}

// Four calls that hold 400 and hand on 40: 40 and one call's 100 while it is run again.
TEST(Checkpointing, of_a_block_that_is_called_often_one_call_at_a_time_is_run_again) {
  model::ModuleBlock cell = block("cell", 400, 40);
  const std::vector<std::string> names = {"cell"};
  EXPECT_EQ(activation_peak(std::vector{cell}, names), Bytes::mib(400));
  cell.calls = 4;
  EXPECT_EQ(activation_peak(std::vector{cell}, names), Bytes::mib(140));
}

TEST(Checkpointing, sets_grow_and_contain_each_other) {
  const auto sets = growing_sets(equal_blocks(12));
  std::vector<std::size_t> sizes;
  for (const auto& names : sets) sizes.push_back(names.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 2, 3, 4, 8, 12}));
  for (std::size_t i = 1; i < sets.size(); ++i) {
    for (const auto& name : sets[i - 1]) EXPECT_TRUE(std::ranges::count(sets[i], name) == 1) << name;
  }
}

TEST(Checkpointing, sizes_hold_the_root_and_all_but_the_root) {
  EXPECT_EQ(growing_sizes(0), std::vector<std::size_t>());
  EXPECT_EQ(growing_sizes(1), std::vector<std::size_t>{1});
  EXPECT_EQ(growing_sizes(100), (std::vector<std::size_t>{1, 2, 4, 8, 10, 16, 32, 64, 90, 100}));
}

TEST(Checkpointing, blocks_that_free_much_for_little_work_come_first) {
  model::BlockLevel level;
  level.blocks = {block("cheap_and_large", 500, 10, 1e6), block("dear", 500, 10, 1e9), block("small", 20, 10, 1e6),
                  block("keeps_only_its_output", 50, 50)};
  const auto sets = growing_sets(level);
  EXPECT_EQ(sets[0], (std::vector<std::string>{"cheap_and_large"}));
  EXPECT_EQ(sets.back().size(), 3U);
}

TEST(Checkpointing, names_from_two_levels_free_nothing) {
  model::Job job;
  job.levels = {equal_blocks(4), {{block("stage", 400, 10)}}};
  EXPECT_EQ(bytes_freed(job, std::vector<std::string>{"stage", "layer.0"}), Bytes(0));
  EXPECT_EQ(bytes_freed(job, std::vector<std::string>{"layer.0"}), Bytes::mib(90));
}

}  // namespace
}  // namespace vramfit::plan
