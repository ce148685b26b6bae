#include "ingest/patch_file.h"

#include <gtest/gtest.h>

#include <fstream>

namespace vramfit::ingest {
namespace {

constexpr std::string_view kOne = R"({"root": "/job", "done": ["autocast"],
  "left": [{"id": "tiles", "reason": "it stays with the plan"}],
  "files": [{"path": "/job/train.py", "before": "a\n", "after": "b\n", "diff": "--- a/train.py\n"}]})";
constexpr std::string_view kNothing = R"({"root": "/job", "done": [], "left": [], "files": []})";

TEST(PatchFile, is_read_in_full) {
  const auto patch = parse_patch(kOne, "patch.1.json");
  ASSERT_TRUE(patch);
  EXPECT_EQ(patch->root, "/job");
  EXPECT_EQ(patch->done, std::vector<std::string>{"autocast"});
  EXPECT_EQ(patch->left, (std::vector<model::UnpatchedTechnique>{{"tiles", "it stays with the plan"}}));
  EXPECT_EQ(patch->files, (std::vector<model::PatchedFile>{{"/job/train.py", "a\n", "b\n", "--- a/train.py\n"}}));
}

TEST(PatchFile, what_is_none_is_an_error) {
  for (const std::string_view text : {"", "[]", "{}", R"({"root": 1, "done": [], "left": [], "files": []})",
                                      R"({"root": "/job", "done": [], "left": [{"id": "tiles"}], "files": []})"}) {
    EXPECT_FALSE(parse_patch(text, "patch.1.json")) << text;
  }
}

TEST(PatchFile, of_several_processes_the_one_that_takes_most_of_the_plan_counts) {
  const auto folder = std::filesystem::temp_directory_path() / "vramfit_patch_file_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const auto none = read_patch(folder);
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  std::ofstream(folder / "patch.1.json") << kNothing;
  std::ofstream(folder / "patch.2.json") << kOne;
  std::ofstream(folder / "patch.3.part") << "{";
  const auto most = read_patch(folder);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(most && *most);
  EXPECT_EQ((*most)->done.size(), 1U);
}

}  // namespace
}  // namespace vramfit::ingest
