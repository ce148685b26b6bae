#include "plan/stream/accumulation.h"

#include <gtest/gtest.h>
#include <vramfit/numbers.h>

#include <algorithm>

namespace vramfit::plan {
namespace {

using model::BlockOwner;
using model::StreamTime;

// Two steps: a batch of 4, 30 that backward needs, a loss of 1 that the script holds until the next one is there, a
// gradient of 8 until the next step's forward, an optimizer's state of 8.
class TwoSteps {
 public:
  TwoSteps() {
    for (const StreamTime begin : {10U, 30U}) {
      stream.passes.push_back({begin + 1, begin + 3, begin + 6});
      add(begin, begin + 20, 4, VF_STAGE_INPUT, BlockOwner::kInputs);
      add(begin + 1, begin + 4, 30, VF_STAGE_FORWARD, BlockOwner::kActivations);
      add(begin + 2, begin == 10 ? 33 : 59, 1, VF_STAGE_FORWARD, BlockOwner::kActivations);
      add(begin + 3, begin == 10 ? 31 : 51, 8, VF_STAGE_BACKWARD, BlockOwner::kGradients);
      add(begin + 5, begin + 5, 2, VF_STAGE_BACKWARD, BlockOwner::kTemporaries);
      if (begin == 10) add(17, model::kStreamEnd, 8, VF_STAGE_OPTIMIZER, BlockOwner::kOptimizer);
    }
    for (const model::StreamBlock& block : stream.blocks) {
      const bool stays = block.died == model::kStreamEnd;
      lives.push_back({at_event(block.born), stays ? kNeverFreed : at_event(block.died), block.bytes, VF_PHASE_TRAIN});
    }
  }
  void add(StreamTime born, StreamTime died, std::int64_t bytes, std::uint8_t stage, BlockOwner owner) {
    stream.blocks.push_back({born, died, -1, bytes, VF_PHASE_TRAIN, stage, owner});
  }
  std::vector<Life> of(std::int64_t bytes) const {
    std::vector<Life> found;
    std::ranges::copy_if(lives, std::back_inserter(found), [&](const Life& life) { return life.bytes == bytes; });
    std::ranges::sort(found, {}, &Life::born);
    return found;
  }
  model::AllocationStream stream;
  std::vector<Life> lives;
};

TEST(Accumulation, a_pass_comes_as_often_as_a_step_has_micro_batches) {
  TwoSteps job;
  add_micro_batches(job.stream, 3, job.lives);
  const auto saved = job.of(30);
  ASSERT_EQ(saved.size(), 6u);
  for (std::size_t i = 0; i + 1 < saved.size(); ++i) EXPECT_LT(saved[i].died, saved[i + 1].born) << i;
  EXPECT_LT(saved[2].died, at_event(16)) << "all of the first step's are before its optimizer";
  EXPECT_GT(saved[3].born, at_event(17)) << "and the second step's behind it";
}

TEST(Accumulation, gradients_of_the_first_stay_and_those_of_the_others_are_added_to_them) {
  TwoSteps job;
  add_micro_batches(job.stream, 3, job.lives);
  auto gradients = job.of(8);
  std::erase_if(gradients, [](const Life& life) { return life.died == kNeverFreed; });  // the state
  ASSERT_EQ(gradients.size(), 6u);
  EXPECT_EQ(gradients[0].died, at_event(31)) << "as in the recorded step: the next one's zero_grad()";
  EXPECT_EQ(gradients[1].died, gradients[1].born + 1);
  EXPECT_EQ(gradients[2].died, gradients[2].born + 1);
  EXPECT_EQ(gradients[3].born, at_event(33)) << "none of the second step's is there before";
}

TEST(Accumulation, what_the_script_holds_goes_when_the_next_micro_batch_has_its_own) {
  TwoSteps job;
  add_micro_batches(job.stream, 2, job.lives);
  const auto losses = job.of(1), saved = job.of(30);
  ASSERT_EQ(losses.size(), 4u);
  EXPECT_GT(losses[0].died, losses[1].born) << "the second is there before the first goes";
  EXPECT_LT(losses[0].died, saved[1].died);
  EXPECT_EQ(losses[1].died, at_event(33)) << "the step's last is held as the recorded one was";
}

TEST(Accumulation, few_of_many_micro_batches_are_played) {
  TwoSteps few, many;
  add_micro_batches(few.stream, 4, few.lives);
  add_micro_batches(many.stream, 32, many.lives);
  EXPECT_EQ(few.lives, many.lives);
}

}  // namespace
}  // namespace vramfit::plan
