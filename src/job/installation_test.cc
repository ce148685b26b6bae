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

TEST_F(InstallationTest, a_folder_that_ld_so_cannot_name_has_a_link_of_another_name) {
  for (const char* name : {"with a blank", "with:colon"}) {
    machine_.add_script(std::string(name) + "/share/vramfit/cards.toml", "");
    setenv("VRAMFIT_HOME", (machine_.root() / name).c_str(), 1);
    const auto first = find_installation(), second = find_installation();
    ASSERT_TRUE(first && second) << name;
    EXPECT_EQ(first->root.string().find_first_of(" :"), std::string::npos);
    EXPECT_EQ(std::filesystem::canonical(first->root), machine_.root() / name);
    EXPECT_EQ(first->root, second->root);
    std::filesystem::remove(first->root);
  }
}

TEST_F(InstallationTest, any_other_folder_keeps_its_name) {
  machine_.add_script("share/vramfit/cards.toml", "");
  EXPECT_EQ(find_installation()->root, machine_.root());
}

}  // namespace
}  // namespace vramfit::job
