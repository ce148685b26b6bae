#include "virtual_gpu/device/address_space.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "virtual_gpu/device/backing.h"

namespace vramfit::device {
namespace {

constexpr size_t kMi = size_t{1} << 20;

// Gives addresses as an empty address space would: each chunk right below the last.
struct Below {
  static inline uintptr_t top = 0;
  static inline std::vector<uintptr_t> released;
  static constexpr AddressSource kSource = {[](size_t bytes, size_t) { return top -= bytes; },
                                            [](uintptr_t begin, size_t) { released.push_back(begin); }};
};

class AddressSpaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Below::top = uintptr_t{1} << 40;
    Below::released.clear();
  }
  AddressSpace linux_{kLinuxChunk, 0, Below::kSource};
  AddressSpace packed_{size_t{1} << 36, kWslLead, Below::kSource};
};

//  |20|..12..| |20|12 taken| : chunks of 32 MiB from the top down, the newest one's rest goes first
TEST_F(AddressSpaceTest, smaller_ones_fill_what_is_left_of_the_newest_chunk) {
  const uintptr_t first = linux_.take(20 * kMi);
  const uintptr_t second = linux_.take(20 * kMi);
  EXPECT_EQ(second, first - kLinuxChunk);
  EXPECT_EQ(linux_.take(12 * kMi), second + 20 * kMi);
  EXPECT_EQ(linux_.take(2 * kMi), first + 20 * kMi);
  EXPECT_EQ(linux_.take(12 * kMi), second - kLinuxChunk);
}

TEST_F(AddressSpaceTest, a_large_one_takes_whole_32_MiB) {
  const uintptr_t first = linux_.take(148 * kMi);
  EXPECT_EQ(first % kLinuxChunk, 0u);
  EXPECT_EQ(linux_.take(20 * kMi), first - kLinuxChunk);
  EXPECT_EQ(linux_.take(14 * kMi), first - 2 * kLinuxChunk);
  EXPECT_EQ(linux_.take(12 * kMi), first - 2 * kLinuxChunk + 14 * kMi);
  EXPECT_EQ(linux_.take(12 * kMi), first - kLinuxChunk + 20 * kMi);
  EXPECT_EQ(linux_.take(12 * kMi), first + 148 * kMi);
}

TEST_F(AddressSpaceTest, a_chunk_goes_back_with_the_last_thing_in_it) {
  const uintptr_t large = linux_.take(20 * kMi);
  const uintptr_t small = linux_.take(2 * kMi);
  linux_.give_back(large, 20 * kMi);
  EXPECT_TRUE(Below::released.empty());
  EXPECT_EQ(linux_.take(20 * kMi), large);
  linux_.give_back(small, 2 * kMi);
  linux_.give_back(large, 20 * kMi);
  EXPECT_EQ(Below::released, std::vector<uintptr_t>{large});
}

// The beginning of every recording of that card: 0x507000000 first, then from 0x502000000 on.
TEST_F(AddressSpaceTest, wsl_packs_upwards_from_a_lead_before_the_first_piece) {
  const uintptr_t first = packed_.take(20 * kMi);
  const uintptr_t second = packed_.take(2 * kMi);
  EXPECT_EQ(second, first - 80 * kMi);
  EXPECT_EQ(packed_.take(148 * kMi), first + 20 * kMi);
  EXPECT_EQ(packed_.take(20 * kMi), second + 2 * kMi);
  packed_.give_back(second, 2 * kMi);
  EXPECT_EQ(packed_.take(2 * kMi), second);
}

TEST_F(AddressSpaceTest, the_system_answers_aligned_addresses_one_below_the_other) {
  const uintptr_t first = kSystemAddresses.reserve(kLinuxChunk, kLinuxChunk);
  const uintptr_t second = kSystemAddresses.reserve(kLinuxChunk, kLinuxChunk);
  EXPECT_EQ(first % kLinuxChunk, 0u);
  EXPECT_EQ(second % kLinuxChunk, 0u);
  EXPECT_LT(second, first);  // nothing else of this test maps memory meanwhile
  kSystemAddresses.release(first, kLinuxChunk);
  kSystemAddresses.release(second, kLinuxChunk);
}

struct Row {
  size_t size_mib = 0, chunk = 0, offset_mib = 0;
};

std::vector<Row> read_recorded(const std::string& name) {
  std::ifstream file(VRAMFIT_SOURCE_DIR "/fixtures/real_cards/" + name);
  std::vector<Row> rows;
  std::string line;
  std::getline(file, line);  // names of the columns
  while (std::getline(file, line)) {
    Row row;
    char comma = 0;
    std::istringstream(line) >> row.size_mib >> comma >> row.chunk >> comma >> row.offset_mib;
    rows.push_back(row);
  }
  return rows;
}

// Every segment that a real driver handed out, in order: in the same chunk, at the same offset.
TEST_F(AddressSpaceTest, the_segments_of_a_real_card_lie_where_they_lay) {
  for (const char* name : {"linux_segments_forward_mixed.csv", "linux_segments_fullstep.csv"}) {
    SetUp();
    AddressSpace space(kLinuxChunk, 0, Below::kSource);
    std::vector<uintptr_t> chunks;
    const std::vector<Row> rows = read_recorded(name);
    ASSERT_GT(rows.size(), 400u) << name;
    for (size_t i = 0; i < rows.size(); ++i) {
      const uintptr_t top = Below::top;
      const uintptr_t at = space.take(rows[i].size_mib * kMi);
      if (Below::top != top) chunks.push_back(at);
      ASSERT_LT(rows[i].chunk, chunks.size()) << name << " row " << i;
      ASSERT_EQ(at, chunks[rows[i].chunk] + rows[i].offset_mib * kMi) << name << " row " << i;
    }
  }
}

}  // namespace
}  // namespace vramfit::device
