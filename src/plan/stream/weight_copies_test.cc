#include "plan/stream/weight_copies.h"

#include <gtest/gtest.h>
#include <vramfit/numbers.h>

#include <algorithm>

namespace vramfit::plan {
namespace {

using model::BlockOwner;
using model::StreamTime;

class Made {
 public:
  Made() {
    stream.modules = {{"fc", -1, base::Bytes::mib(4)}};
    stream.passes = {{10, 20, 30}};
    add(0, model::kStreamEnd, -1, 16, BlockOwner::kWeights);
  }
  void add(StreamTime born, StreamTime died, int module, std::int64_t mib, BlockOwner owner) {
    const std::uint8_t stage = born < 20 ? VF_STAGE_FORWARD : VF_STAGE_BACKWARD;
    stream.blocks.push_back({born, died, module, base::Bytes::mib(mib).count(), VF_PHASE_TRAIN, stage, owner, false});
  }
  model::AllocationStream stream;
};

TEST(WeightCopies, are_what_a_module_keeps_more_of_half_a_weights_size) {
  Made without, with;
  without.add(11, 25, 0, 8, BlockOwner::kActivations);
  with.add(11, 25, 0, 8, BlockOwner::kActivations);  // the copy
  with.add(12, 25, 0, 4, BlockOwner::kActivations);
  with.add(21, 22, -1, 4, BlockOwner::kTemporaries);
  with.add(22, 24, -1, 8, BlockOwner::kTemporaries);  // the copy's gradient
  with.add(23, 24, -1, 8, BlockOwner::kTemporaries);
  EXPECT_EQ(find_weight_copies(with.stream, without.stream),
            (std::vector<bool>{false, true, false, false, true, false}));
}

TEST(WeightCopies, are_none_where_a_module_keeps_as_much_as_before) {
  Made without;
  without.add(11, 25, 0, 8, BlockOwner::kActivations);
  EXPECT_EQ(find_weight_copies(without.stream, without.stream), (std::vector<bool>{false, false}));
}

TEST(WeightCopies, of_a_script_under_autocast_are_what_is_kept_of_half_a_weights_size) {
  Made job;
  job.add(11, 25, 0, 8, BlockOwner::kActivations);  // the copy
  job.add(12, 25, 0, 4, BlockOwner::kActivations);
  job.add(21, 24, -1, 8, BlockOwner::kTemporaries);  // its gradient
  EXPECT_EQ(find_weight_copies(job.stream), (std::vector<bool>{false, true, false, true}));
  job.stream.blocks.insert(job.stream.blocks.begin(), job.stream.blocks.front());
  job.stream.blocks.front().bytes += 1 << 20;  // a second weight of that size, in a block that was not split
  job.add(13, 25, 0, 8, BlockOwner::kActivations);
  std::ranges::sort(job.stream.blocks, {}, &model::StreamBlock::born);
  EXPECT_EQ(find_weight_copies(job.stream), (std::vector<bool>{false, false, true, false, true, true}));
}

TEST(WeightCopies, are_those_nearest_to_half_a_weights_size) {
  Made job;
  job.add(11, 25, 0, 8, BlockOwner::kActivations);
  job.stream.blocks.back().bytes += 96 << 10;  // as an activation has it
  job.add(12, 25, 0, 8, BlockOwner::kActivations);
  EXPECT_EQ(find_weight_copies(job.stream), (std::vector<bool>{false, false, true}));
}

// A weight that two operators use, as an embedding that is the last layer too: 4 and 4 make 4.
TEST(GradientParts, are_the_two_that_go_once_their_sum_is_there) {
  Made job;
  job.add(21, 26, -1, 4, BlockOwner::kTemporaries);  // of the last layer
  job.add(22, 30, -1, 4, BlockOwner::kGradients);    // of another weight of that size
  job.add(23, 27, -1, 4, BlockOwner::kTemporaries);  // of the embedding
  job.add(25, 40, -1, 4, BlockOwner::kGradients);
  EXPECT_EQ(find_gradient_parts(job.stream), (std::vector<bool>{false, true, false, true, false}));
}

TEST(GradientParts, are_none_where_one_temporary_alone_goes_with_a_gradient) {
  Made job;
  job.add(21, 26, -1, 4, BlockOwner::kTemporaries);  // an activation's gradient, which happens to be as large
  job.add(23, 29, -1, 4, BlockOwner::kTemporaries);  // goes after something else was made
  job.add(25, 40, -1, 4, BlockOwner::kGradients);
  job.add(28, 40, -1, 1, BlockOwner::kGradients);
  EXPECT_EQ(find_gradient_parts(job.stream), std::vector<bool>(5, false));
}

TEST(GradientParts, of_three_uses_are_four) {
  Made job;
  job.add(20, 23, -1, 4, BlockOwner::kTemporaries);
  job.add(21, 24, -1, 4, BlockOwner::kTemporaries);
  job.add(22, 28, -1, 4, BlockOwner::kTemporaries);  // the sum of the first two
  job.add(25, 27, -1, 4, BlockOwner::kTemporaries);
  job.add(26, 40, -1, 4, BlockOwner::kGradients);
  EXPECT_EQ(find_gradient_parts(job.stream), (std::vector<bool>{false, true, true, true, true, false}));
}

}  // namespace
}  // namespace vramfit::plan
