#include "virtual_gpu/library/requirement.h"

#include <gtest/gtest.h>

namespace vramfit::library {
namespace {

TEST(Requirement, names_the_version_of_a_pinned_package) {
  constexpr const char* kText =
      "Name: torch\nRequires-Dist: nvidia-cudnn-cu12 (==9.1.0.70) ; platform_system == \"Linux\"\n";
  EXPECT_EQ(parse_requirement(kText, "nvidia-cudnn"), (Version{9, 1, 0, 70}));
}

TEST(Requirement, takes_the_lower_end_of_a_range) {
  constexpr const char* kText = "Requires-Dist: nvidia-cublas<=13.1.1.3,>=13.1.0.3; platform_system == \"Linux\"\n";
  EXPECT_EQ(parse_requirement(kText, "nvidia-cublas"), (Version{13, 1, 0, 3}));
}

TEST(Requirement, is_not_fooled_by_a_longer_name) {
  constexpr const char* kText = "Requires-Dist: nvidia-cusparselt-cu12==0.7.1\nRequires-Dist: numpy\n";
  EXPECT_EQ(parse_requirement(kText, "nvidia-cusparse"), std::nullopt);
  EXPECT_EQ(parse_requirement("", "nvidia-cudnn"), std::nullopt);
}

}  // namespace
}  // namespace vramfit::library
