#include "library_build.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace vramfit::cudnn_oracle {
namespace {

namespace fs = std::filesystem;

class LibraryBuild : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/buildXXXXXX";
    root_ = mkdtemp(pattern.data());
    for (const char* folder : {"a", "b"}) fs::create_directories(root_ / folder);
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(root_ / name) << text; }
  std::string build(const std::string& folder) const { return describe_build((root_ / folder).string(), "libx"); }

  fs::path root_;
};

TEST_F(LibraryBuild, is_what_the_files_hold_wherever_they_lie) {
  for (const char* folder : {"a/", "b/"}) {
    write(folder + std::string("libx_graph.so.9"), std::string(1 << 20, 'g'));
    write(folder + std::string("libx_engines.so.9"), "e");
  }
  write("b/other.so", "not ours");
  EXPECT_FALSE(build("a").empty());
  EXPECT_EQ(build("a"), build("b"));
}

TEST_F(LibraryBuild, changes_with_a_byte_at_either_end_a_size_or_a_file) {
  const std::string text(1 << 20, 'g');
  write("a/libx_graph.so.9", text);
  const std::string before = build("a");
  write("a/libx_graph.so.9", "G" + text.substr(1));
  EXPECT_NE(build("a"), before);
  write("a/libx_graph.so.9", text.substr(1) + "G");
  EXPECT_NE(build("a"), before);
  write("a/libx_graph.so.9", text + "g");
  EXPECT_NE(build("a"), before);
  write("a/libx_graph.so.9", text);
  EXPECT_EQ(build("a"), before);
  write("a/libx_more.so.9", "");
  EXPECT_NE(build("a"), before);
}

TEST_F(LibraryBuild, of_nothing_is_empty) {
  EXPECT_EQ(build("a"), "");
  EXPECT_EQ(describe_build("/nonexistent", "libx"), "");
}

}  // namespace
}  // namespace vramfit::cudnn_oracle
