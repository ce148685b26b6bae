#include "virtual_gpu/cudnn/learned_file.h"

#include <gtest/gtest.h>

namespace vramfit::cudnn {
namespace {

TEST(LearnedFile, a_line_is_a_convolution_with_the_workspaces_of_its_plans) {
  const auto learned = parse_learned("4096\t8192\tforward 64x56x56 3x3\n0\t0\tother key\n");
  ASSERT_EQ(learned.size(), 2u);
  EXPECT_EQ(learned.at("forward 64x56x56 3x3"), (LearnedWorkspace{4096, 8192}));
  EXPECT_EQ(learned.at("other key"), LearnedWorkspace{});
}

TEST(LearnedFile, lines_of_another_shape_are_left_out) {
  EXPECT_TRUE(parse_learned("").empty());
  EXPECT_TRUE(
      parse_learned("4096\n4096\t8192\n-1\t0\tkey\n1\t-2\tkey\nx\t1\tkey\n1 2 key\n99999999999999999999\t1\tkey")
          .empty());
  EXPECT_EQ(parse_learned("bad\n1\t2\tcut off").at("cut off"), (LearnedWorkspace{1, 2}));
}

}  // namespace
}  // namespace vramfit::cudnn
