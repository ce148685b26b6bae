#include "app/patch.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"

namespace vramfit::app {
namespace {

namespace fs = std::filesystem;

class WritePatched : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt_name();
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    ASSERT_TRUE(base::write_file(folder_ / "train.py", "old\n"));
    ASSERT_TRUE(base::write_file(folder_ / "data.py", "old too\n"));
  }
  void TearDown() override { fs::remove_all(folder_); }

  model::Patch patch() const {
    return {folder_.string(),
            {{(folder_ / "train.py").string(), "old\n", "new\n", ""},
             {(folder_ / "data.py").string(), "old too\n", "new too\n", ""}},
            {"autocast"},
            {}};
  }
  std::string text_of(const char* name) const { return base::read_file(folder_ / name).value_or("(none)"); }

  fs::path folder_;

 private:
  static std::string fmt_name() {
    return std::string("vramfit_patch_") + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }
};

TEST_F(WritePatched, keeps_what_each_file_was) {
  const auto backups = write_patched(patch());
  ASSERT_TRUE(backups);
  EXPECT_EQ(backups->size(), 2U);
  EXPECT_EQ(text_of("train.py"), "new\n");
  EXPECT_EQ(text_of("train.py.orig"), "old\n");
  EXPECT_EQ(text_of("data.py.orig"), "old too\n");
}

TEST_F(WritePatched, never_takes_the_place_of_an_older_copy) {
  ASSERT_TRUE(base::write_file(folder_ / "train.py.orig", "precious\n"));
  ASSERT_TRUE(write_patched(patch()));
  EXPECT_EQ(text_of("train.py.orig"), "precious\n");
  EXPECT_EQ(text_of("train.py.orig2"), "old\n");
}

TEST_F(WritePatched, touches_nothing_when_one_file_is_another_than_the_run_saw) {
  ASSERT_TRUE(base::write_file(folder_ / "data.py", "edited meanwhile\n"));
  const auto written = write_patched(patch());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().where, (folder_ / "data.py").string());
  EXPECT_EQ(text_of("train.py"), "old\n");
  EXPECT_FALSE(fs::exists(folder_ / "train.py.orig"));
}

TEST_F(WritePatched, goes_through_links_and_keeps_rights) {
  fs::rename(folder_ / "train.py", folder_ / "real.py");
  fs::create_symlink("real.py", folder_ / "train.py");
  fs::permissions(folder_ / "real.py", fs::perms::owner_all);
  ASSERT_TRUE(write_patched(patch()));
  EXPECT_TRUE(fs::is_symlink(folder_ / "train.py"));
  EXPECT_EQ(text_of("real.py"), "new\n");
  EXPECT_EQ(fs::status(folder_ / "real.py").permissions(), fs::perms::owner_all);
}

}  // namespace
}  // namespace vramfit::app
