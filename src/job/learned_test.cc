#include "job/learned.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"

namespace vramfit::job {
namespace {

namespace fs = std::filesystem;

class LearnedFile : public ::testing::Test {
 protected:
  LearnedFile() : folder_(fs::path(::testing::TempDir()) / ("vramfit-learned." + std::to_string(::getpid()))) {}
  ~LearnedFile() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(LearnedFile, lies_beside_the_history) {
  EXPECT_EQ(find_learned_file({{"VRAMFIT_STORE", "/x/runs.db"}}), "/x/learned.json");
  EXPECT_FALSE(find_learned_file({{"VRAMFIT_STORE", "none"}}));
}

TEST_F(LearnedFile, keeps_what_was_learned_last_of_each_card) {
  const fs::path file = folder_ / "new" / "learned.json";
  EXPECT_FALSE(find_learned(file, "t4"));
  const Learned first{model::AddressOrder::kWsl, {}, {}, "a.pickle", "2026-11-22"};
  const Learned later{model::AddressOrder::kLinux, {}, {}, "b.pickle", "2026-11-23"};
  ASSERT_TRUE(keep_learned(file, "t4", first));
  ASSERT_TRUE(keep_learned(file, "rtx3060", first));
  ASSERT_TRUE(keep_learned(file, "t4", later));
  EXPECT_EQ(find_learned(file, "t4"), later);
  EXPECT_EQ(find_learned(file, "rtx3060"), first);
  EXPECT_FALSE(find_learned(file, "h100"));
}

TEST_F(LearnedFile, keeps_each_part_until_it_is_learned_again) {
  const fs::path file = folder_ / "learned.json";
  const auto workspace = [](std::string layer, std::int64_t taken) {
    return model::LayerWorkspace{std::move(layer), base::Bytes(taken), base::Bytes(2 * taken)};
  };
  const MeasuredOverhead overhead{base::Bytes(300), "a message"};
  ASSERT_TRUE(
      keep_learned(file, "t4", {model::AddressOrder::kWsl, {workspace("b", 2), workspace("c", 3)}, {}, "1", ""}));
  ASSERT_TRUE(keep_learned(file, "t4", {{}, {workspace("a", 1), workspace("c", 0)}, overhead, "2", "later"}));
  const Learned both{
      model::AddressOrder::kWsl, {workspace("a", 1), workspace("b", 2), workspace("c", 0)}, overhead, "2", "later"};
  EXPECT_EQ(find_learned(file, "t4"), both);
  EXPECT_EQ(to_lines(both.workspaces), "1\t2\ta\n2\t4\tb\n0\t0\tc\n");
}

TEST_F(LearnedFile, leaves_out_workspaces_that_make_no_sense) {
  const fs::path file = folder_ / "learned.json";
  fs::create_directories(folder_);
  ASSERT_TRUE(base::write_file(file.string(), R"({"version": 1, "cards": {"t4": {"workspaces": [7, {"layer": "a"},
      {"layer": "b", "taken": 5, "largest": 4}, {"layer": "", "taken": 1, "largest": 1},
      {"layer": "c", "taken": 1, "largest": 1}]}}})"));
  const auto learned = find_learned(file, "t4");
  ASSERT_TRUE(learned);
  ASSERT_EQ(learned->workspaces.size(), 1u);
  EXPECT_EQ(learned->workspaces.front().layer, "c");
}

TEST_F(LearnedFile, that_is_damaged_teaches_nothing_and_is_written_anew) {
  const fs::path file = folder_ / "learned.json";
  fs::create_directories(folder_);
  for (const char* text : {"", "[1]", "{\"version\": 2, \"cards\": {}}", "{\"version\": 1}",
                           "{\"version\": 1, \"cards\": {\"t4\": {\"address_order\": 7}}}", "{\"version\": \"1\"}"}) {
    ASSERT_TRUE(base::write_file(file.string(), text));
    EXPECT_FALSE(find_learned(file, "t4")) << text;
  }
  ASSERT_TRUE(keep_learned(file, "t4", {model::AddressOrder::kWsl, {}, {}, "a", "b"}));
  EXPECT_TRUE(find_learned(file, "t4"));
}

}  // namespace
}  // namespace vramfit::job
