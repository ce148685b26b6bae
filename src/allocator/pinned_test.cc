#include "allocator/pinned.h"

#include <gtest/gtest.h>

#include "allocator/testing/sizes.h"

namespace vramfit::allocator {
namespace {

TEST(Pinned, five_gibibytes_take_eight) {
  PinnedSimulator pinned;
  const PinnedBlockId block = pinned.malloc(5 * kGib);
  EXPECT_EQ(pinned.size_of(block), 8 * kGib);
  EXPECT_EQ(pinned.statistics().allocated_bytes.current, static_cast<std::int64_t>(8 * kGib));
}

TEST(Pinned, a_block_is_reused_at_exactly_its_power) {
  PinnedSimulator pinned;
  pinned.free(pinned.malloc(8 * kMib));
  pinned.malloc(3 * kMib);
  EXPECT_EQ(pinned.statistics().host_allocations, 2) << "8 MiB do not serve 4";
  pinned.malloc(5 * kMib);
  EXPECT_EQ(pinned.statistics().host_allocations, 2) << "8 MiB serve 5";
}

TEST(Pinned, a_block_that_streams_still_read_cannot_be_had) {
  PinnedSimulator pinned;
  const PinnedBlockId read = pinned.malloc(kMib);
  pinned.free(read, true);
  EXPECT_NE(pinned.malloc(kMib), read);
  pinned.complete(read);
  EXPECT_EQ(pinned.malloc(kMib), read);
}

TEST(Pinned, only_emptying_the_cache_gives_memory_back) {
  PinnedSimulator pinned;
  const PinnedBlockId kept = pinned.malloc(kMib);
  pinned.free(pinned.malloc(4 * kMib));
  pinned.free(pinned.malloc(2 * kMib), true);
  EXPECT_EQ(pinned.statistics().allocated_bytes.current, static_cast<std::int64_t>(7 * kMib));
  pinned.empty_cache();
  EXPECT_EQ(pinned.statistics().allocated_bytes.current, static_cast<std::int64_t>(kMib));
  EXPECT_EQ(pinned.statistics().host_frees, 2);
  EXPECT_EQ(pinned.size_of(kept), kMib);
}

}  // namespace
}  // namespace vramfit::allocator
