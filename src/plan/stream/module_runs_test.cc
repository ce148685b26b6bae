#include "plan/stream/module_runs.h"

#include <gtest/gtest.h>

#include "plan/stream/reshape.h"
#include "plan/stream/testing/called_often.h"

namespace vramfit::plan {
namespace {

using Runs = std::vector<ModuleRun>;

TEST(ModuleRuns, are_one_where_a_module_is_called_once_whatever_comes_between) {
  model::AllocationStream stream = called_often(3, 10);
  for (model::StreamModule& module : stream.modules) module.blocks_of_call = 0;
  const auto runs = find_module_runs(stream, 0, 9);
  EXPECT_EQ(runs[0], (Runs{{0, 8}})) << "cell: from its first to its last block";
  EXPECT_EQ(runs[1], (Runs{{2, 9}})) << "head";
}

TEST(ModuleRuns, are_the_pieces_where_it_is_called_often) {
  const auto runs = find_module_runs(called_often(3, 10), 0, 9);
  EXPECT_EQ(runs[0], (Runs{{0, 2}, {3, 5}, {6, 8}}));
  EXPECT_EQ(runs[1], (Runs{{2, 3}, {5, 6}, {8, 9}}));
}

TEST(ModuleRuns, calls_that_come_one_right_after_the_other_are_told_apart_by_how_many_blocks_each_has) {
  model::AllocationStream stream = called_often(3, 10);
  std::erase_if(stream.blocks, [](const auto& block) { return block.module == 1; });
  EXPECT_EQ(find_module_runs(stream, 0, 6)[0], (Runs{{0, 2}, {2, 4}, {4, 6}}));
  EXPECT_EQ(find_module_runs(stream, 0, 5)[0], (Runs{{0, 5}})) << "a block more or less is another thing";
}

// Each call is run again by itself: of three letters no more than one is there again at a time.
TEST(ModuleRuns, of_a_module_that_is_called_often_one_call_at_a_time_is_made_anew) {
  model::AllocationStream stream = called_often(3, 10);
  Reshaping reshaping;
  for (auto& phase : reshaping.shares) {
    for (auto& stage : phase) stage.fill(1);
  }
  const auto peak = [&] {
    std::int64_t most = 0;
    const auto lives = reshape(stream, reshaping);
    for (const Life& at : lives) {
      std::int64_t level = 0;
      for (const Life& life : lives) level += life.born <= at.born && at.born < life.died ? life.bytes : 0;
      most = std::max(most, level >> 20);
    }
    return most;
  };
  EXPECT_EQ(peak(), 3 * (10 + 1 + 1)) << "each cell keeps 10 and hands on 1, each head keeps 1";
  reshaping.repeated = {0};
  EXPECT_EQ(peak(), 3 + 2 + 10) << "handed on by three cells, kept by the first two heads, and the 10 of one cell";
  for (model::StreamModule& module : stream.modules) module.blocks_of_call = 0;
  EXPECT_GT(peak(), 3 * 10) << "as one module that is run again as a whole";
}

}  // namespace
}  // namespace vramfit::plan
