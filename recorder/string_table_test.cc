#include "string_table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace vramfit::recorder {
namespace {

class StringTableTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "vramfit_strings_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/strings.1.txt"; }
  std::vector<std::string> lines() const {
    std::ifstream file(path());
    std::vector<std::string> all;
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }

  std::string folder_;
};

TEST_F(StringTableTest, the_id_of_a_string_is_its_line_from_1) {
  StringTable table(path());
  EXPECT_EQ(table.intern("conv1"), 1u);
  EXPECT_EQ(table.intern("layer1.0"), 2u);
  EXPECT_EQ(table.intern("conv1"), 1u);
  EXPECT_EQ(lines(), (std::vector<std::string>{"conv1", "layer1.0"}));
}

TEST_F(StringTableTest, line_breaks_and_backslashes_are_escaped) {
  StringTable table(path());
  table.intern("a\nb\\c");
  EXPECT_EQ(lines(), std::vector<std::string>{"a\\nb\\\\c"});
}

TEST_F(StringTableTest, a_long_text_is_cut) {
  StringTable table(path());
  table.intern(std::string(10'000, 'x'));
  EXPECT_EQ(lines().at(0).size(), StringTable::kMaxTextBytes);
}

TEST_F(StringTableTest, no_folder_gives_id_0) {
  StringTable table(folder_ + "/absent/strings.txt");
  EXPECT_EQ(table.intern("x"), 0u);
  EXPECT_EQ(table.intern("y"), 0u);
}

TEST_F(StringTableTest, a_full_disk_gives_id_0_and_ids_stay_in_step) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP();
  StringTable table("/dev/full");
  EXPECT_EQ(table.intern("x"), 0u);
}

TEST_F(StringTableTest, threads_agree_on_the_ids) {
  StringTable table(path());
  constexpr int kTexts = 200;
  std::vector<std::vector<uint32_t>> seen(4);
  {
    std::vector<std::jthread> threads;
    for (auto& ids : seen) {
      threads.emplace_back([&] {
        for (int i = 0; i < kTexts; ++i) ids.push_back(table.intern("text " + std::to_string(i)));
      });
    }
  }
  for (const auto& ids : seen) EXPECT_EQ(ids, seen[0]);
  const auto all = lines();
  ASSERT_EQ(all.size(), static_cast<size_t>(kTexts));
  for (int i = 0; i < kTexts; ++i) EXPECT_EQ(all[seen[0][static_cast<size_t>(i)] - 1], "text " + std::to_string(i));
}

}  // namespace
}  // namespace vramfit::recorder
