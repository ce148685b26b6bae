#include "allocator/linux_device.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace vramfit::allocator {
namespace {

constexpr std::uint64_t kMibs = 1 << 20;

// The recordings of decision 0012 have it so: chunks of whole 32 MiB, the newest lowest.
TEST(LinuxDevice, a_new_chunk_lies_below_the_last_and_is_filled_from_its_beginning) {
  LinuxDevice card(std::uint64_t{1} << 40);
  const std::uint64_t first = card.allocate(148 * kMibs).value();
  const std::uint64_t second = card.allocate(20 * kMibs).value();
  EXPECT_EQ(second, first - 32 * kMibs);
  EXPECT_EQ(card.allocate(2 * kMibs).value(), second + 20 * kMibs);
  EXPECT_EQ(card.allocate(20 * kMibs).value(), second - 32 * kMibs);
  EXPECT_EQ(card.allocate(12 * kMibs).value(), second - 12 * kMibs) << "the newest chunk first";
  EXPECT_EQ(card.allocate(12 * kMibs).value(), first + 148 * kMibs);
}

TEST(LinuxDevice, what_is_left_of_a_chunk_is_the_lowest_hole_in_it) {
  LinuxDevice card(std::uint64_t{1} << 40);
  std::vector<std::uint64_t> pieces;
  for (int i = 0; i < 16; ++i) pieces.push_back(card.allocate(2 * kMibs).value());
  card.release(pieces[9], 2 * kMibs);
  card.release(pieces[4], 2 * kMibs);
  EXPECT_EQ(card.allocate(2 * kMibs).value(), pieces[4]);
  EXPECT_EQ(card.used_bytes(), 30 * kMibs);
}

TEST(LinuxDevice, a_chunk_that_is_given_back_is_taken_by_one_that_leaves_32_mib_of_it) {
  LinuxDevice card(std::uint64_t{1} << 40);
  const std::uint64_t first = card.allocate(64 * kMibs).value();
  const std::uint64_t second = card.allocate(64 * kMibs).value();
  card.release(first, 64 * kMibs);
  EXPECT_EQ(card.allocate(64 * kMibs).value(), second - 64 * kMibs) << "to align it, the driver asks for 32 MiB more";
  EXPECT_EQ(card.allocate(30 * kMibs).value(), first + 32 * kMibs) << "the highest place in the hole";
}

TEST(LinuxDevice, holes_beside_each_other_are_one_and_the_lowest_is_none) {
  LinuxDevice card(std::uint64_t{1} << 40);
  std::vector<std::uint64_t> chunks;
  for (int i = 0; i < 4; ++i) chunks.push_back(card.allocate(32 * kMibs).value());
  card.release(chunks[1], 32 * kMibs);
  card.release(chunks[2], 32 * kMibs);
  EXPECT_EQ(card.allocate(32 * kMibs).value(), chunks[1]);
  card.release(chunks[1], 32 * kMibs);
  card.release(chunks[3], 32 * kMibs);
  EXPECT_EQ(card.allocate(128 * kMibs).value(), chunks[0] - 128 * kMibs);
}

TEST(LinuxDevice, a_full_card_gives_nothing) {
  LinuxDevice card(100 * kMibs);
  const std::uint64_t first = card.allocate(80 * kMibs).value();
  EXPECT_EQ(card.allocate(40 * kMibs), std::nullopt);
  card.release(first, 80 * kMibs);
  EXPECT_TRUE(card.allocate(100 * kMibs).has_value());
}

}  // namespace
}  // namespace vramfit::allocator
