#include "allocator/card_device.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "allocator/testing/sizes.h"

namespace vramfit::allocator {
namespace {

TEST(CardDevice, memory_is_counted_in_granules_of_two_mebibytes) {
  CardDevice device(10 * kMib, kMib);
  ASSERT_TRUE(device.allocate(1));
  EXPECT_EQ(device.used_bytes(), 3 * kMib);
  EXPECT_EQ(device.free_bytes(), 7 * kMib);
  EXPECT_FALSE(device.allocate(7 * kMib)) << "four granules";
  EXPECT_TRUE(device.allocate(6 * kMib));
  EXPECT_EQ(device.peak_used_bytes(), 9 * kMib);
}

TEST(CardDevice, a_request_near_the_largest_number_does_not_wrap) {
  CardDevice device(10 * kMib);
  EXPECT_FALSE(device.allocate(UINT64_MAX));
  EXPECT_EQ(device.used_bytes(), 0U);
}

TEST(CardDevice, what_is_taken_over_may_pass_the_total_and_nothing_is_free_then) {
  CardDevice device(10 * kMib);
  device.adopt(12 * kMib);
  EXPECT_EQ(device.free_bytes(), 0U);
  EXPECT_FALSE(device.allocate(1));
}

TEST(CardDevice, reserving_addresses_takes_no_memory_and_mapping_does) {
  CardDevice device(10 * kMib);
  const std::uint64_t begin = device.reserve(40 * kMib, 2 * kMib, 0, {});
  EXPECT_EQ(device.used_bytes(), 0U);
  EXPECT_TRUE(device.map(begin, 8 * kMib, 2 * kMib));
  EXPECT_FALSE(device.map(begin + 8 * kMib, 4 * kMib, 2 * kMib));
  device.unmap(begin, 8 * kMib, 2 * kMib);
  EXPECT_EQ(device.used_bytes(), 0U);
}

// No two live ranges overlap, the lowest hole that is large enough is taken, and in the end nothing is used.
TEST(CardDevice, ranges_never_overlap_in_a_random_walk) {
  CardDevice device(512 * kMib);
  std::map<std::uint64_t, std::uint64_t> live;
  std::mt19937 random(3);
  for (int step = 0; step < 5000; ++step) {
    if (random() % 2 == 0 || live.empty()) {
      const std::uint64_t bytes = 1 + random() % (40 * kMib);
      const auto begin = device.allocate(bytes);
      if (!begin) continue;
      const auto after = live.lower_bound(*begin);
      ASSERT_TRUE(after == live.end() || *begin + bytes <= after->first);
      ASSERT_TRUE(after == live.begin() || std::prev(after)->first + std::prev(after)->second <= *begin);
      live[*begin] = bytes;
    } else {
      const auto one = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
      device.release(one->first, one->second);
      live.erase(one);
    }
  }
  for (const auto& [begin, bytes] : live) device.release(begin, bytes);
  EXPECT_EQ(device.used_bytes(), 0U);
}

}  // namespace
}  // namespace vramfit::allocator
