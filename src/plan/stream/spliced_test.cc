#include "plan/stream/spliced.h"

#include <gtest/gtest.h>
#include <vramfit/numbers.h>

namespace vramfit::plan {
namespace {

using model::BlockOwner;
using model::StreamTime;

// Weights of 9, one pass from `begin`, an evaluation from `behind` whose forward takes `bytes`.
model::AllocationStream evaluated(StreamTime begin, StreamTime behind, std::int64_t bytes) {
  model::AllocationStream stream;
  stream.modules = {{"head", -1, {}}};
  stream.passes = {{begin, begin + 1, begin + 2}};
  const auto add = [&](StreamTime born, StreamTime died, int module, std::int64_t size, std::uint8_t phase,
                       std::uint8_t stage, BlockOwner owner) {
    stream.blocks.push_back({born, died, module, size, phase, stage, owner});
  };
  add(0, behind + 7, -1, 9, VF_PHASE_LOAD, VF_STAGE_OTHER, BlockOwner::kWeights);
  add(begin, begin + 1, 0, bytes, VF_PHASE_TRAIN, VF_STAGE_FORWARD, BlockOwner::kActivations);
  add(begin + 2, model::kStreamEnd, -1, 5, VF_PHASE_TRAIN, VF_STAGE_OPTIMIZER, BlockOwner::kOptimizer);
  add(behind, behind + 5, -1, 3, VF_PHASE_TRAIN, VF_STAGE_INPUT, BlockOwner::kInputs);
  add(behind + 2, behind + 4, 0, bytes, VF_PHASE_VALIDATE, VF_STAGE_FORWARD, BlockOwner::kActivations);
  return stream;
}

TEST(Spliced, trains_as_the_one_and_evaluates_as_the_other) {
  model::AllocationStream other = evaluated(10, 40, 77);
  other.modules.insert(other.modules.begin(), {"body", -1, {}});
  other.blocks[4].module = 1;
  other.emptied = {5, 41};
  const auto spliced = splice_evaluations(evaluated(10, 20, 33), other);
  ASSERT_TRUE(spliced);
  ASSERT_EQ(spliced->blocks.size(), 5u);
  EXPECT_EQ(spliced->blocks[1].bytes, 33);
  EXPECT_EQ(spliced->blocks[4].bytes, 77);
  EXPECT_EQ(spliced->blocks[4].born, 22u) << "as long behind the training as in its own run";
  EXPECT_EQ(spliced->blocks[4].died, 24u);
  EXPECT_EQ(spliced->blocks[4].module, 0) << "by its name";
  EXPECT_EQ(spliced->blocks[0].died, 27u) << "weights go when the other's went";
  EXPECT_EQ(spliced->blocks[2].died, model::kStreamEnd);
  EXPECT_EQ(spliced->emptied, std::vector<StreamTime>{21});
}

TEST(Spliced, is_not_possible_where_training_goes_on_behind_an_evaluation) {
  model::AllocationStream again = evaluated(10, 20, 33);
  again.passes.push_back({30, 31, 32});
  EXPECT_FALSE(splice_evaluations(again, evaluated(10, 20, 33)));
  EXPECT_FALSE(splice_evaluations(evaluated(10, 20, 33), again));
}

}  // namespace
}  // namespace vramfit::plan
