#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "liveness/owners.h"

namespace vramfit::liveness {
namespace {

using model::BlockOwner;

TEST(BlockOwner, a_block_is_taken_for_what_its_tag_says_and_without_one_for_what_its_stage_does) {
  Block block;
  const auto taken_for = [&](std::uint8_t owner) {
    block.owner = owner;
    return block_owner(block);
  };
  EXPECT_EQ(taken_for(VF_OWNER_WEIGHT), BlockOwner::kWeights);
  EXPECT_EQ(taken_for(VF_OWNER_GRADIENT), BlockOwner::kGradients);
  EXPECT_EQ(taken_for(VF_OWNER_OPTIMIZER), BlockOwner::kOptimizer);
  EXPECT_EQ(taken_for(VF_OWNER_CACHE), BlockOwner::kActivations);
  EXPECT_EQ(taken_for(VF_OWNER_AVERAGE), BlockOwner::kBuffers);
  EXPECT_EQ(taken_for(VF_OWNER_WORKSPACE), BlockOwner::kWorkspaces);
  block.stage = VF_STAGE_FORWARD;
  EXPECT_EQ(taken_for(VF_OWNER_UNKNOWN), BlockOwner::kActivations);
  block.stage = VF_STAGE_BACKWARD;
  EXPECT_EQ(taken_for(VF_OWNER_UNKNOWN), BlockOwner::kTemporaries);
  block.stage = VF_STAGE_OTHER;
  block.phase = VF_PHASE_LOAD;
  EXPECT_EQ(taken_for(VF_OWNER_UNKNOWN), BlockOwner::kBuffers) << "loaded";
  block.phase = VF_PHASE_TRAIN;
  EXPECT_EQ(taken_for(VF_OWNER_UNKNOWN), BlockOwner::kTemporaries);
}

// What is of a model by its tag is what a plan takes for the model's.
TEST(BlockOwner, nothing_of_a_model_is_taken_for_what_a_batch_brings) {
  constexpr std::array kOfModels = {BlockOwner::kWeights, BlockOwner::kGradients, BlockOwner::kOptimizer,
                                    BlockOwner::kBuffers};
  Block block;
  block.phase = VF_PHASE_TRAIN;
  for (int owner = VF_OWNER_UNKNOWN; owner <= VF_OWNER_OTHER_MODEL; ++owner) {
    block.owner = static_cast<std::uint8_t>(owner);
    const bool is_of_model = std::ranges::find(kOfModels, block_owner(block)) != kOfModels.end();
    EXPECT_EQ(is_model_state(block), is_of_model) << owner;
  }
}

}  // namespace
}  // namespace vramfit::liveness
