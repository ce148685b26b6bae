#include "job/torch_releases.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "job/interpreter.h"

namespace vramfit::job {
namespace {

TEST(TorchReleases, are_found_by_full_and_by_short_version) {
  EXPECT_EQ(find_torch_release("2.6.0")->torchvision, "0.21.0");
  EXPECT_EQ(find_torch_release("2.12")->version, "2.12.1");
  EXPECT_FALSE(find_torch_release("2.1"));  // not a prefix of 2.12
  EXPECT_FALSE(find_torch_release(""));
}

TEST(TorchReleases, the_default_is_the_newest_that_the_whole_suite_runs_on) {
  EXPECT_EQ(choose_torch_release({}, 11)->version, "2.12.1");
  EXPECT_EQ(choose_torch_release({{7, 5}, {12, 0}}, 11)->version, "2.12.1");
}

TEST(TorchReleases, a_card_decides_the_version) {
  EXPECT_EQ(choose_torch_release({{6, 1}}, 11)->version, "2.6.0");
  EXPECT_EQ(choose_torch_release({{7, 0}}, 11)->version, "2.6.0");
  EXPECT_EQ(choose_torch_release({{7, 0}, {10, 0}}, 11)->version, "2.9.1") << "no first-class one has both";
  EXPECT_FALSE(choose_torch_release({{6, 1}, {12, 0}}, 11));
}

TEST(TorchReleases, the_interpreter_limits_the_choice) {
  EXPECT_EQ(choose_torch_release({}, 9)->version, "2.6.0");
  EXPECT_FALSE(choose_torch_release({{6, 1}}, 14));
  EXPECT_FALSE(choose_torch_release({}, 8));
}

TEST(TorchReleases, requirements_pin_torch_and_leave_nvidias_libraries_out) {
  const auto all = requirements_of(*find_torch_release("2.6.0"));
  EXPECT_EQ(all[0], "torch==2.6.0");
  EXPECT_EQ(all[1], "torchvision==0.21.0");
  EXPECT_EQ(all[2], "sympy==1.13.1");
  EXPECT_TRUE(std::ranges::none_of(all, [](const std::string& name) { return name.starts_with("nvidia"); }));
}

TEST(TorchReleases, every_row_is_complete) {
  for (const TorchRelease& release : torch_releases()) {
    EXPECT_FALSE(parse_architectures(release.architectures).empty()) << release.version;
    EXPECT_LE(release.python_first, release.python_last) << release.version;
    EXPECT_FALSE(release.torchvision.empty() || release.triton.empty() || release.cuda.empty()) << release.version;
  }
}

}  // namespace
}  // namespace vramfit::job
