#include "plan/recompute/repeat_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "plan/testing/example_job.h"
#include "plan/testing/example_step.h"

namespace vramfit::plan {
namespace {

model::Job job_with(model::StepModules step) {
  model::Job job = example_job();
  for (model::StepModule& module : step.modules) module.bytes = 1e8;
  job.step_modules = std::move(step);
  return job;
}

std::vector<Bytes> peaks_of(const model::Job& job, const std::vector<RepeatSet>& sets) {
  std::vector<Bytes> peaks;
  for (const RepeatSet& set : sets) {
    const auto& step = *job.step_modules;
    peaks.push_back(
        peak_with(set.kept == Kept::kProducts ? with_products_kept(step) : step, find_modules(step, set.modules)));
  }
  return peaks;
}

TEST(RepeatSets, free_more_and_more) {
  const model::Job job = job_with(example_chain(12, 200, 20));
  const auto sets = find_repeat_sets(job, example_target().card, {});
  const auto peaks = peaks_of(job, sets);
  ASSERT_GE(peaks.size(), 4U);
  EXPECT_TRUE(std::ranges::is_sorted(peaks, std::greater<>()));
  EXPECT_EQ(peaks.back(), Bytes::mib(11 * 20 + 200));
}

TEST(RepeatSets, hold_the_smallest_for_each_budget_that_is_asked_for) {
  const model::Job job = job_with(example_chain(12, 200, 20));
  const Bytes budget = Bytes::mib(2400 - 180 - 90);
  const auto sets = find_repeat_sets(job, example_target().card, {budget});
  EXPECT_TRUE(std::ranges::any_of(sets, [](const auto& set) { return set.modules.size() == 2; }));
}

TEST(RepeatSets, hold_no_module_that_brings_nothing) {
  model::StepModules step = example_chain(6, 200, 20);
  step.modules[2].freed = Bytes();  // what it saves, others save as well
  const std::vector<double> costs(step.modules.size(), 1.0);
  const Bytes budget = peak_with(step, std::vector<std::size_t>{1, 3});
  EXPECT_EQ(without_idle(step, costs, {1, 2, 3}, budget), (std::vector<std::size_t>{1, 3}));
  for (const std::size_t index : {1U, 3U}) {
    std::vector<std::size_t> others = {1, 3};
    std::erase(others, index);
    EXPECT_GT(peak_with(step, others), budget) << index;
  }
  EXPECT_EQ(without_idle(step, costs, {1, 2, 3}, step.peak), std::vector<std::size_t>()) << "it fits without any";
}

TEST(RepeatSets, are_none_without_a_step_or_where_nothing_can_be_freed) {
  EXPECT_TRUE(find_repeat_sets(example_job(), example_target().card, {Bytes::mib(1)}).empty());
  EXPECT_TRUE(find_repeat_sets(job_with(example_chain(4, 100, 100)), example_target().card, {Bytes::mib(1)}).empty());
}

// Half of what each holds are results of products, which take all of its time.
TEST(RepeatSets, keep_products_where_what_lies_between_them_is_enough) {
  model::Job job = job_with(example_chain(12, 200, 20));
  for (model::StepModule& module : job.step_modules->modules) {
    module.macs = 1e12;
    module.products = Bytes::mib(100);
  }
  const Bytes little = Bytes::mib(2400 - 12 * 80 + 100), much = Bytes::mib(2400 - 12 * 100);
  const auto sets = find_repeat_sets(job, example_target().card, {little, much});
  const auto set_within = [&](Bytes budget) {
    return *std::ranges::find_if(sets, [&](const RepeatSet& set) { return peaks_of(job, {set})[0] <= budget; });
  };
  EXPECT_EQ(set_within(little).kept, Kept::kProducts);
  EXPECT_EQ(set_within(much).kept, Kept::kNothing);
  EXPECT_LT(repeat_seconds(job, example_target().card, Kept::kProducts)[0],
            0.5 * repeat_seconds(job, example_target().card)[0]);
}

TEST(RepeatSets, work_that_is_repeated_takes_longer_on_a_slower_card) {
  model::Job job = job_with(example_chain(2, 200, 20));
  job.step_modules->modules[0].macs = 1e12;
  const auto costs = repeat_seconds(job, example_target().card);
  EXPECT_GT(costs[0], costs[1]);
  model::Card slower = example_target().card;
  slower.rates.fp32 = *slower.rates.fp32 / 2;
  EXPECT_GT(repeat_seconds(job, slower)[0], 1.5 * costs[0]);
}

}  // namespace
}  // namespace vramfit::plan
