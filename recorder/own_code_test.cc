#include "own_code.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace vramfit::recorder {
namespace {

TEST(OwnCode, a_script_and_a_relative_script_are_the_users_own) {
  EXPECT_EQ(whose_code("/home/me/train.py", "/opt/vramfit/python/"), Whose::kUsers);
  EXPECT_EQ(whose_code("train.py", ""), Whose::kUsers);
}

TEST(OwnCode, what_starts_a_program_is_not_but_a_script_of_any_name_elsewhere_is) {
  std::string folder = testing::TempDir() + "vramfit_bin_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  EXPECT_EQ(whose_code(folder + "/tune", ""), Whose::kUsers);
  std::ofstream(folder + "/python3").put('#');
  chmod((folder + "/python3").c_str(), 0700);
  EXPECT_EQ(whose_code(folder + "/tune", ""), Whose::kMachinery);
  EXPECT_EQ(whose_code(folder + "/train.py", ""), Whose::kUsers);
  std::filesystem::remove_all(folder);
}

TEST(OwnCode, a_package_is_told_from_pytorch) {
  EXPECT_EQ(whose_code("/venv/lib/python3.11/site-packages/torchtune/modules/attention.py", ""), Whose::kPackage);
  EXPECT_EQ(line_text("/venv/lib/python3.11/site-packages/torchtune/modules/attention.py", 7, "forward", "/venv/"),
            "torchtune/modules/attention.py:7 in forward");
  EXPECT_EQ(whose_code("/venv/lib/python3.11/site-packages/torch/nn/modules/conv.py", ""), Whose::kMachinery);
  EXPECT_EQ(whose_code("/usr/lib/python3/dist-packages/torch/x.py", ""), Whose::kMachinery);
}

TEST(OwnCode, the_standard_library_is_not_but_a_folder_with_a_similar_name_is) {
  EXPECT_EQ(whose_code("/usr/lib/python3.11/random.py", ""), Whose::kMachinery);
  EXPECT_EQ(whose_code("/opt/lib/python3.13t/random.py", ""), Whose::kMachinery);
  EXPECT_EQ(whose_code("/home/me/lib/python3/train.py", ""), Whose::kUsers);
  EXPECT_EQ(whose_code("/home/me/lib/python3.x/train.py", ""), Whose::kUsers);
}

TEST(OwnCode, generated_code_and_our_hooks_are_not) {
  EXPECT_EQ(whose_code("<frozen runpy>", ""), Whose::kMachinery);
  EXPECT_EQ(whose_code("<string>", ""), Whose::kMachinery);
  EXPECT_EQ(whose_code("/tmp/torchinductor_me/ab/cab.py", ""), Whose::kMachinery);
  EXPECT_EQ(whose_code("/scratch/torch_geometric.nn.conv.gcn_conv_GCNConv_propagate_cmvfirk4.py", ""),
            Whose::kMachinery);
  EXPECT_EQ(whose_code("/opt/vramfit/python/vramfit/hook/phases.py", "/opt/vramfit/python/"), Whose::kMachinery);
  EXPECT_EQ(whose_code("", ""), Whose::kMachinery);
}

TEST(OwnCode, the_text_of_a_line_is_relative_to_the_folder_the_job_started_in) {
  EXPECT_EQ(line_text("/home/me/job/train.py", 84, "train", "/home/me/job/"), "train.py:84 in train");
  EXPECT_EQ(line_text("/home/me/job/a/b.py", 1, "B.f", "/home/me/job/"), "a/b.py:1 in B.f");
  EXPECT_EQ(line_text("/elsewhere/train.py", 3, "", "/home/me/job/"), "/elsewhere/train.py:3");
  EXPECT_EQ(line_text("./train.py", 3, "f", "/home/me/job/"), "train.py:3 in f");
}

}  // namespace
}  // namespace vramfit::recorder
