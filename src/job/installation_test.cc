#include "job/installation.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "job/testing/fake_python.h"

namespace vramfit::job {
namespace {

class InstallationTest : public ::testing::Test {
 protected:
  InstallationTest() { setenv("VRAMFIT_HOME", machine_.root().c_str(), 1); }
  ~InstallationTest() override { unsetenv("VRAMFIT_HOME"); }
  testing::FakeMachine machine_;
};

TEST_F(InstallationTest, one_without_its_catalogue_is_incomplete_and_says_what_is_missing) {
  const auto installation = find_installation();
  ASSERT_FALSE(installation);
  EXPECT_NE(installation.error().where.find("cards.toml"), std::string::npos);
}

TEST_F(InstallationTest, each_cuda_release_has_its_stand_ins) {
  machine_.add_script("share/vramfit/cards.toml", "");
  const auto installation = find_installation();
  ASSERT_TRUE(installation) << installation.error().what;
  EXPECT_EQ(installation->preload(12), installation->root / "lib" / "cu12" / "libvramfit_preload.so");
  EXPECT_EQ(installation->stand_ins(13), installation->root / "lib" / "cu13");
  EXPECT_EQ(installation->stand_ins(14), installation->root / "lib" / "cu14") << "not there: check_cuda refuses it";
}

}  // namespace
}  // namespace vramfit::job
