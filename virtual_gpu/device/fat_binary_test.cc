#include "virtual_gpu/device/fat_binary.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace vramfit::device {
namespace {

template <typename Number>
void put(std::string& bytes, size_t at, Number value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

std::string entry(uint16_t kind, uint32_t architecture, size_t payload) {
  std::string bytes(64 + payload, '\x5a');
  put<uint16_t>(bytes, 0, kind);
  put<uint32_t>(bytes, 4, 64);
  put<uint64_t>(bytes, 8, payload);
  put<uint32_t>(bytes, 28, architecture);
  return bytes;
}

std::string container(const std::string& entries) {
  std::string bytes(16, '\0');
  put<uint32_t>(bytes, 0, 0xba55ed50);
  put<uint16_t>(bytes, 4, 1);
  put<uint16_t>(bytes, 6, 16);
  put<uint64_t>(bytes, 8, entries.size());
  return bytes + entries;
}

using Images = std::vector<Image>;

TEST(Images, of_a_fat_binary_are_its_entries) {
  const std::string fat = container(entry(2, 75, 40) + entry(2, 86, 8) + entry(1, 90, 24));
  EXPECT_EQ(images_of(fat.data()), (Images{{false, 75}, {false, 86}, {true, 90}}));
}

TEST(Images, are_found_behind_the_wrapper) {
  const std::string fat = container(entry(2, 80, 8));
  struct {
    uint32_t magic = 0x466243b1, version = 1;
    const void* data;
    void* rest = nullptr;
  } wrapper;
  wrapper.data = fat.data();
  EXPECT_EQ(images_of(&wrapper), (Images{{false, 80}}));
}

TEST(Images, of_a_truncated_entry_end_the_list) {
  std::string broken = entry(2, 80, 8);
  put<uint32_t>(broken, 4, 0);  // a header of no size would never end
  EXPECT_EQ(images_of(container(broken).data()), Images{});
}

TEST(Images, of_an_entry_longer_than_its_container_end_the_list) {
  std::string broken = entry(2, 80, 8);
  for (const uint64_t bytes : {uint64_t{9}, ~uint64_t{0}, ~uint64_t{0} - 63, uint64_t{1} << 63}) {
    put<uint64_t>(broken, 8, bytes);  // an address behind the container, or, wrapped around, before it
    EXPECT_EQ(images_of(container(broken + entry(2, 90, 8)).data()).front(), (Image{false, 80})) << bytes;
  }
}

TEST(Images, of_a_wrapper_of_itself_are_none) {
  struct Wrapper {
    uint32_t magic = 0x466243b1, version = 1;
    const void* data;
    void* rest = nullptr;
  } wrapper;
  wrapper.data = &wrapper;
  EXPECT_EQ(images_of(&wrapper), Images{});
}

TEST(Images, of_ptx_text_come_from_its_target) {
  EXPECT_EQ(images_of(".version 8.0\n.target sm_70\n"), (Images{{true, 70}}));
  EXPECT_EQ(images_of("nothing of the kind"), Images{});
}

TEST(RunsOn, machine_code_needs_its_own_major_version_and_no_later_minor) {
  const Images images{{false, 80}, {false, 86}};
  EXPECT_TRUE(runs_on(images, 8, 0));
  EXPECT_TRUE(runs_on(images, 8, 9));
  EXPECT_FALSE(runs_on(images, 9, 0));
  EXPECT_FALSE(runs_on({{false, 86}}, 8, 0));
  EXPECT_FALSE(runs_on({{false, 75}}, 6, 1));
}

TEST(RunsOn, ptx_is_compiled_for_later_cards_only) {
  EXPECT_TRUE(runs_on({{true, 70}}, 12, 0));
  EXPECT_FALSE(runs_on({{true, 90}}, 8, 6));
}

TEST(BuildFor, a_card_is_the_nearest_machine_code_before_any_ptx) {
  const Images images{{false, 75}, {false, 80}, {false, 86}, {false, 90}, {false, 120}, {true, 120}};
  EXPECT_EQ(build_for(images, 8, 9), (Build{86, 86}));
  EXPECT_EQ(build_for(images, 8, 0), (Build{80, 80}));
  EXPECT_EQ(build_for(images, 7, 5), (Build{75, 75}));
  EXPECT_EQ(build_for(images, 12, 1), (Build{120, 120}));
}

TEST(BuildFor, ptx_is_told_by_what_it_was_written_for) {
  EXPECT_EQ(build_for({{false, 70}, {true, 70}, {true, 80}}, 9, 0), (Build{80, 90}));
  EXPECT_EQ(build_for({{false, 70}}, 9, 0), (Build{90, 90})) << "nothing runs there: a launch says so";
  EXPECT_EQ(build_for({}, 8, 9), (Build{89, 89}));
}

}  // namespace
}  // namespace vramfit::device
