#include "own_code.h"

#include <gtest/gtest.h>

namespace vramfit::recorder {
namespace {

TEST(OwnCode, a_script_and_a_relative_script_are_the_users_own) {
  EXPECT_TRUE(is_own_code("/home/me/train.py", "/opt/vramfit/python/"));
  EXPECT_TRUE(is_own_code("train.py", ""));
}

TEST(OwnCode, installed_packages_are_not) {
  EXPECT_FALSE(is_own_code("/venv/lib/python3.11/site-packages/torch/nn/modules/conv.py", ""));
  EXPECT_FALSE(is_own_code("/usr/lib/python3/dist-packages/torch/x.py", ""));
}

TEST(OwnCode, the_standard_library_is_not_but_a_folder_with_a_similar_name_is) {
  EXPECT_FALSE(is_own_code("/usr/lib/python3.11/random.py", ""));
  EXPECT_FALSE(is_own_code("/opt/lib/python3.13t/random.py", ""));
  EXPECT_TRUE(is_own_code("/home/me/lib/python3/train.py", ""));
  EXPECT_TRUE(is_own_code("/home/me/lib/python3.x/train.py", ""));
}

TEST(OwnCode, generated_code_and_our_hooks_are_not) {
  EXPECT_FALSE(is_own_code("<frozen runpy>", ""));
  EXPECT_FALSE(is_own_code("<string>", ""));
  EXPECT_FALSE(is_own_code("/tmp/torchinductor_me/ab/cab.py", ""));
  EXPECT_FALSE(is_own_code("/scratch/torch_geometric.nn.conv.gcn_conv_GCNConv_propagate_cmvfirk4.py", ""));
  EXPECT_FALSE(is_own_code("/opt/vramfit/python/vramfit/hook/phases.py", "/opt/vramfit/python/"));
  EXPECT_FALSE(is_own_code("", ""));
}

TEST(OwnCode, the_text_of_a_line_is_relative_to_the_folder_the_job_started_in) {
  EXPECT_EQ(line_text("/home/me/job/train.py", 84, "train", "/home/me/job/"), "train.py:84 in train");
  EXPECT_EQ(line_text("/home/me/job/a/b.py", 1, "B.f", "/home/me/job/"), "a/b.py:1 in B.f");
  EXPECT_EQ(line_text("/elsewhere/train.py", 3, "", "/home/me/job/"), "/elsewhere/train.py:3");
  EXPECT_EQ(line_text("./train.py", 3, "f", "/home/me/job/"), "train.py:3 in f");
}

}  // namespace
}  // namespace vramfit::recorder
