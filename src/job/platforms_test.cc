#include "job/platforms.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace vramfit::job {
namespace {

Interpreter with(const char* torch, const char* cuda) {
  Interpreter interpreter;
  interpreter.program = "/usr/bin/python3";
  interpreter.torch = torch;
  interpreter.cuda = cuda;
  return interpreter;
}

TEST(Platforms, what_is_compiled_in_is_complete) {
  const Platforms& known = platforms();
  EXPECT_GE(known.torch.size(), 8u);
  EXPECT_EQ(known.cuda_majors, (std::vector{12, 13}));
  EXPECT_TRUE(std::ranges::any_of(known.torch, &TorchRelease::is_first_class));
}

TEST(Platforms, every_known_release_can_be_run_and_nothing_is_said_of_it) {
  for (const TorchRelease& release : platforms().torch) {
    const Interpreter interpreter = with(release.version.c_str(), release.cuda.c_str());
    EXPECT_TRUE(check_cuda(interpreter)) << release.version;
    EXPECT_TRUE(describe_unknown(interpreter).empty()) << release.version;
  }
}

TEST(Platforms, a_torch_between_those_that_are_tested_is_said_to_be_untested) {
  EXPECT_EQ(describe_unknown(with("2.7.1+cu126", "12.6")),
            (std::vector<std::string>{
                "torch 2.7.1+cu126 is not a release that vramfit was tested with: older and newer ones are"}));
  EXPECT_EQ(describe_unknown(with("2.12.0+cu130", "13.0")),
            (std::vector<std::string>{"torch 2.12.0+cu130 is not a release that vramfit was tested with: 2.12.1 is"}));
}

TEST(Platforms, a_build_for_another_cuda_is_said_to_be_untested) {
  EXPECT_EQ(describe_unknown(with("2.12.1+cu126", "12.6")),
            (std::vector<std::string>{
                "torch 2.12.1+cu126 is a build for CUDA 12.6: vramfit was tested with that for CUDA 13.0"}));
}

TEST(Platforms, a_job_is_told_of_the_driver_that_its_cuda_came_with) {
  EXPECT_EQ(count_cuda("12.4"), 12040);
  EXPECT_EQ(count_cuda(""), 13000) << "a job without torch";
  EXPECT_EQ(find_driver(12090).second, "575.57.08");
  EXPECT_EQ(find_driver(13000).second, "580.82.07");
  EXPECT_EQ(find_driver(13020).second, "595.58.03");
  EXPECT_EQ(find_driver(10020).second, "470.57.02") << "older than all";
  for (const TorchRelease& release : platforms().torch)
    EXPECT_EQ(describe_unknown_driver(release.cuda), "") << release.version;
  EXPECT_EQ(describe_unknown_driver(""), "");
}

TEST(Platforms, wheels_of_other_lines_are_for_the_cuda_of_the_next_older_one) {
  EXPECT_EQ(cuda_major_of_wheel(2, 4), 12) << "older than all";
  EXPECT_EQ(cuda_major_of_wheel(2, 10), 12);
  EXPECT_EQ(cuda_major_of_wheel(2, 11), 13);
  EXPECT_EQ(cuda_major_of_wheel(2, 99), 13);
}

// The newest driver is taken for the CUDA of a made-up torch, and that is said.
TEST(Platforms, a_cuda_newer_than_all_drivers_is_told_apart) {
  const Platforms known = parse_platforms(R"({"torch": [{"version": "2.12.1", "cuda": "13.0", "torchvision": "",
      "triton": "", "sympy": "sympy", "python": [10, 14], "architectures": "sm_90", "tested": "throughout"}],
      "cuda": [{"major": 13}], "drivers": {"13.1": "590.48.01", "13.0": "580.82.07"}})");
  EXPECT_EQ(find_driver(count_cuda("13.9"), known).second, "590.48.01");
  EXPECT_EQ(
      describe_unknown_driver("13.9", known),
      "CUDA 13.9 is newer than those whose driver this vramfit knows: the job is told of driver 590.48.01, that of "
      "CUDA 13.1");
  EXPECT_EQ(describe_unknown_driver("13.0", known), "");
  EXPECT_EQ(describe_unknown_driver("12.7"),
            "this vramfit does not know the driver of CUDA 12.7: the job is told of driver 560.35.05, that of CUDA "
            "12.6");
}

// A made-up release: it is told apart, not treated as the last one that is known.
TEST(Platforms, a_cuda_of_the_future_is_refused_by_name) {
  const auto checked = check_cuda(with("2.19.0+cu140", "14.0"));
  ASSERT_FALSE(checked);
  EXPECT_EQ(
      checked.error().what,
      "torch 2.19.0+cu140 is built for CUDA 14.0, and this vramfit stands in for the libraries of CUDA 12 and 13");
  EXPECT_EQ(checked.error().remedy, "a release that is known, as --torch 2.12.1");
  EXPECT_FALSE(check_cuda(with("2.0.1+cu118", "11.8")));
  EXPECT_TRUE(check_cuda(with("", ""))) << "a job without torch";
}

TEST(Platforms, a_torch_of_the_future_or_the_past_is_said_to_be_untested) {
  const auto newer = describe_unknown(with("2.16.0.dev20270101+cu130", "13.0"));
  ASSERT_EQ(newer.size(), 1u);
  EXPECT_TRUE(
      newer[0].starts_with("torch 2.16.0.dev20270101+cu130 is newer than those that this vramfit knows (2.5 to "))
      << newer[0];
  EXPECT_EQ(describe_unknown(with("3.0.0", "13.0")).size(), 1u);
  const auto older = describe_unknown(with("2.1.2+cu121", "12.1"));
  ASSERT_EQ(older.size(), 1u);
  EXPECT_TRUE(older[0].starts_with("torch 2.1.2+cu121 is older than those")) << older[0];
}

TEST(Platforms, a_python_of_the_future_or_the_past_is_said_to_be_untested) {
  Interpreter interpreter = with("2.12.1+cu130", "13.0");
  interpreter.python = "3.19.0a2";
  const auto newer = describe_unknown(interpreter);
  ASSERT_EQ(newer.size(), 1u);
  EXPECT_TRUE(newer[0].starts_with("Python 3.19.0a2 is newer than those that this vramfit knows (3.9 to ")) << newer[0];
  interpreter.python = "3.8.18";
  const auto older = describe_unknown(interpreter);
  ASSERT_EQ(older.size(), 1u);
  EXPECT_TRUE(older[0].starts_with("Python 3.8.18 is older than those")) << older[0];
  interpreter.python = "3.9.2";
  EXPECT_TRUE(describe_unknown(interpreter).empty());
}

const Platforms kThreeReleases = parse_platforms(R"({"torch": [
    {"version": "2.19.0", "cuda": "14.0", "torchvision": "", "triton": "", "sympy": "sympy", "python": [17, 19],
     "architectures": "sm_90", "tested": "starts and trains"},
    {"version": "2.18.0", "cuda": "14.0", "torchvision": "", "triton": "", "sympy": "sympy", "python": [16, 18],
     "architectures": "sm_90", "tested": "throughout"},
    {"version": "2.17.0", "cuda": "14.0", "torchvision": "", "triton": "", "sympy": "sympy", "python": [15, 17],
     "architectures": "sm_80 sm_90", "tested": "throughout"}], "cuda": [{"major": 14}], "drivers": {"14.0": "610.1"}})");

TEST(Platforms, the_pythons_of_cards_are_those_with_wheels_that_have_kernels_for_all) {
  EXPECT_EQ(find_pythons({}, kThreeReleases), (PythonRange{15, 19}));
  EXPECT_EQ(find_pythons({{9, 0}}, kThreeReleases), (PythonRange{15, 19}));
  EXPECT_EQ(find_pythons({{9, 0}, {8, 0}}, kThreeReleases), (PythonRange{15, 17}));
  EXPECT_FALSE(find_pythons({{7, 0}}, kThreeReleases));
  EXPECT_EQ(to_string({15, 17}), "3.15 to 3.17");
}

TEST(Platforms, a_python_that_most_releases_know_is_looked_for_first) {
  EXPECT_EQ(rank_pythons(kThreeReleases), (std::vector{17, 18, 16, 19, 15}));
  const auto all = rank_pythons();
  for (const TorchRelease& release : platforms().torch) {
    for (int minor = release.python_first; minor <= release.python_last; ++minor)
      EXPECT_NE(std::ranges::find(all, minor), all.end()) << minor;
  }
}

TEST(Platforms, one_entry_makes_a_release_known) {
  const Platforms later = parse_platforms(R"({"torch": [{"version": "2.19.0", "cuda": "14.0", "torchvision": "0.33.0",
      "triton": "4.0.0", "sympy": "sympy", "python": [12, 16], "architectures": "sm_90", "tested": "throughout"}],
      "cuda": [{"major": 14}], "drivers": {"14.0": "610.1"}})");
  EXPECT_TRUE(check_cuda(with("2.19.0", "14.0"), later));
  EXPECT_TRUE(describe_unknown(with("2.19.0", "14.0"), later).empty());
  EXPECT_EQ(describe_unknown_driver("14.0", later), "");
  EXPECT_FALSE(check_cuda(with("2.12.1", "13.0"), later));
  EXPECT_ANY_THROW(parse_platforms("{}"));
}

TEST(Platforms, tell_the_rules_of_a_later_torch_apart) {
  EXPECT_EQ(describe_later_torch(2, 12), "");
  EXPECT_NE(describe_later_torch(2, 99).find("torch 2.99 is newer than those that this vramfit knows"),
            std::string::npos);
  EXPECT_NE(describe_later_torch(3, 0), "");
}

TEST(Platforms, a_cuda_older_than_all_is_told_of_the_oldest_driver_by_name) {
  EXPECT_NE(describe_unknown_driver("10.2"), "");
}

}  // namespace
}  // namespace vramfit::job
