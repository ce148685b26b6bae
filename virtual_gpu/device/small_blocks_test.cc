#include "virtual_gpu/device/small_blocks.h"

#include <gtest/gtest.h>

namespace vramfit::device {
namespace {

constexpr uintptr_t kGranule = 0x40000000;

TEST(SmallBlocks, share_a_granule_at_multiples_of_512_bytes) {
  SmallBlocks blocks;
  EXPECT_EQ(blocks.allocate(1), 0u);
  blocks.add_granule(kGranule);
  EXPECT_EQ(blocks.allocate(1), kGranule);
  EXPECT_EQ(blocks.allocate(513), kGranule + 512);
  EXPECT_EQ(blocks.allocate(1), kGranule + 512 + 1024);
}

TEST(SmallBlocks, two_of_the_largest_fill_a_granule) {
  SmallBlocks blocks;
  blocks.add_granule(kGranule);
  EXPECT_NE(blocks.allocate(kLargestSmallBlock), 0u);
  EXPECT_NE(blocks.allocate(kLargestSmallBlock), 0u);
  EXPECT_EQ(blocks.allocate(1), 0u);
}

TEST(SmallBlocks, freeing_both_neighbours_merges_three_blocks_and_returns_the_granule) {
  SmallBlocks blocks;
  blocks.add_granule(kGranule);
  const uintptr_t a = blocks.allocate(512);
  const uintptr_t b = blocks.allocate(512);
  const uintptr_t c = blocks.allocate(512);
  EXPECT_EQ(blocks.release(a, 512), 0u);
  EXPECT_EQ(blocks.release(c, 512), 0u);
  EXPECT_EQ(blocks.release(b, 512), kGranule);
  EXPECT_EQ(blocks.allocate(1), 0u);  // no longer ours
}

}  // namespace
}  // namespace vramfit::device
