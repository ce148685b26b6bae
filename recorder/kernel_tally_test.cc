#include "kernel_tally.h"

#include <gtest/gtest.h>

#include <vector>

namespace vramfit::recorder {
namespace {

class KernelTallyTest : public testing::Test {
 protected:
  void SetUp() override {
    blocks.add(0x1000, 4096);
    blocks.add(0x8000, 512);
  }
  int64_t touched(std::vector<uint64_t> pointers, KernelMemory memory = {}) const {
    return pass_of(pointers, memory, blocks).bytes;
  }
  LiveBlocks blocks;
};

TEST_F(KernelTallyTest, a_pointer_touches_its_block_from_there_on) {
  EXPECT_EQ(touched({0x1000, 0x8000}), 4096 + 512);
  EXPECT_EQ(touched({0x1400}), 3072);
}

TEST_F(KernelTallyTest, what_is_no_block_counts_nothing) {
  EXPECT_EQ(touched({0x500, 0x8200, 7, 0xffffffff80000000}), 0);
  blocks.remove(0x1000);
  EXPECT_EQ(touched({0x1000}), 0);
}

TEST_F(KernelTallyTest, a_tensor_in_place_is_read_and_written) { EXPECT_EQ(touched({0x1000, 0x1000}), 2 * 4096); }

TEST_F(KernelTallyTest, no_more_of_a_block_than_the_elements_that_there_are) {
  EXPECT_EQ(touched({0x1000, 0x8000}, {.most_each = 1024}), 1024 + 512);
}

TEST_F(KernelTallyTest, of_the_largest_only_as_many_rows_as_are_picked) {
  EXPECT_EQ(touched({0x1000, 0x8000}, {.picks_rows = true}), 2 * 512);
}

TEST_F(KernelTallyTest, of_kernels_that_go_one_by_one_the_elements_of_the_largest_tensor_are_counted) {
  const std::vector<uint64_t> pointers = {0x1000, 0x8000};
  EXPECT_EQ(pass_of(pointers, {.one_by_one_bytes = 2}, blocks).elements, 2048);
  EXPECT_EQ(pass_of(pointers, {.picks_rows = true, .one_by_one_bytes = 2}, blocks).elements, 256) << "those picked";
  EXPECT_EQ(pass_of(pointers, {}, blocks).elements, 0) << "it loads vectors";
  EXPECT_EQ(pass_of({}, {.bytes = 4000, .one_by_one_bytes = 4}, blocks).elements, 500) << "loaded and stored";
}

}  // namespace
}  // namespace vramfit::recorder
