#include "plan/stream/between.h"

#include <gtest/gtest.h>
#include <vramfit/numbers.h>

namespace vramfit::plan {
namespace {

using model::BlockOwner;

constexpr std::int64_t kMebibyte = 1 << 20;

model::AllocationStream stream_of(const std::vector<std::int64_t>& activations, const std::vector<std::int64_t>& made) {
  model::AllocationStream stream;
  stream.modules = {{"a", -1, base::Bytes::mib(1)}};
  model::StreamTime at = 0;
  const auto add = [&](std::int64_t mib, std::int32_t module, std::uint8_t stage, BlockOwner owner) {
    stream.blocks.push_back({at++, 99, module, mib * kMebibyte, VF_PHASE_TRAIN, stage, owner});
  };
  for (const std::int64_t mib : activations) add(mib, 0, VF_STAGE_FORWARD, BlockOwner::kActivations);
  for (const std::int64_t mib : made) add(mib, -1, VF_STAGE_BACKWARD, BlockOwner::kTemporaries);
  return stream;
}

std::vector<double> sizes(const model::AllocationStream& stream) {
  std::vector<double> found;
  for (const model::StreamBlock& block : stream.blocks) {
    found.push_back(static_cast<double>(block.bytes) / static_cast<double>(kMebibyte));
  }
  return found;
}

TEST(Between, a_block_stays_or_goes_with_the_inputs_or_with_their_square) {
  EXPECT_DOUBLE_EQ(share_between(0.75, 0.5, 1), 1);
  EXPECT_DOUBLE_EQ(share_between(0.75, 0.5, 0.5), 0.75);
  EXPECT_DOUBLE_EQ(share_between(0.75, 0.5, 0.25), 0.5625);
  EXPECT_DOUBLE_EQ(share_between(0.75, 0.5, 0.75), 0.875) << "half of it stays";
  EXPECT_DOUBLE_EQ(share_between(0.5, 0.5, 0.4), 0.4) << "as it was measured";
}

TEST(Between, each_block_is_foretold_from_its_fellow) {
  const auto between = stream_between(stream_of({40, 16, 8}, {20}), stream_of({20, 4, 8}, {10}), 0.75, 0.5);
  EXPECT_EQ(sizes(between), (std::vector<double>{30, 9, 8, 15}));
}

TEST(Between, where_runs_differ_all_of_a_kind_shrink_by_one_share) {
  const auto between = stream_between(stream_of({40, 8}, {20, 20}), stream_of({20, 8}, {20}), 0.75, 0.5);
  EXPECT_EQ(sizes(between), (std::vector<double>{30, 8, 15, 15}));
}

}  // namespace
}  // namespace vramfit::plan
