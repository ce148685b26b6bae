#include "base/temporary_file.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace vramfit::base {
namespace {

TEST(TemporaryFile, is_there_under_its_own_name_and_goes_with_its_owner) {
  std::filesystem::path path;
  {
    const TemporaryFile one("test"), other("test");
    ASSERT_TRUE(one);
    path = one.path();
    EXPECT_NE(path, other.path());
    EXPECT_TRUE(path.filename().string().starts_with("vramfit-test.")) << path;
    EXPECT_EQ(std::filesystem::file_size(path), 0U);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace vramfit::base
