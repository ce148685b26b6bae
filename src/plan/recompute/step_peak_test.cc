#include "plan/recompute/step_peak.h"

#include <gtest/gtest.h>

#include "plan/testing/example_step.h"

namespace vramfit::plan {
namespace {

using Chosen = std::vector<std::size_t>;

//   4 modules of 100 MiB that hand on 10: 400 at the end of forward
TEST(StepPeak, without_any_it_is_what_was_recorded) {
  const auto step = example_chain(4, 100, 10);
  EXPECT_EQ(peak_with(step, {}), step.end_peak);
  EXPECT_EQ(step.end_peak, Bytes::mib(400));
}

//   the last one's backward: 3 outputs of 10 MiB and its own 100 MiB
TEST(StepPeak, of_all_run_again_is_their_outputs_and_one_module) {
  EXPECT_EQ(peak_with(example_chain(4, 100, 10), Chosen{0, 1, 2, 3}), Bytes::mib(3 * 10 + 100));
}

TEST(StepPeak, the_last_one_frees_only_what_comes_after_it) {
  EXPECT_EQ(peak_with(example_chain(4, 100, 10), Chosen{3}), Bytes::mib(400));
}

//   outer of two stages of 2 modules each; run again with all inside: 10 of the first stage, 10 of a module, one module
TEST(StepPeak, nested_ones_count_within_the_second_run_of_the_outer_one) {
  const auto step = example_stages(2, 2, 100, 10);
  EXPECT_EQ(peak_with(step, {}), Bytes::mib(400));
  EXPECT_EQ(peak_with(step, Chosen{0, 3}), Bytes::mib(10 + 200));
  EXPECT_EQ(peak_with(step, Chosen{0, 1, 2, 3, 4, 5}), Bytes::mib(10 + 10 + 100));
}

TEST(StepPeak, modules_are_found_by_their_names) {
  const auto step = example_stages(2, 2, 100, 10);
  EXPECT_EQ(find_modules(step, std::vector<std::string>{"s1.m0", "gone", "s0"}), (Chosen{4, 0}));
}

}  // namespace
}  // namespace vramfit::plan
