#include <gtest/gtest.h>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(MemoryBudget, holds_the_share_that_it_is_given_until_a_run_shows_what_it_holds) {
  model::Job job = job_with_everything_applicable();
  const auto changes = memory_budget().options(job, example_target());
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(memory_budget().find_all_measurable(job, example_target()), changes) << "a run for each";
  const Bytes before = job.stage_peaks[0].holdings.activations;
  const Forecast half = forecast_with(memory_budget(), job, example_target(), changes[0]);
  EXPECT_EQ(half.stage_peaks[0].holdings.activations, scaled(before, 0.5));
  EXPECT_EQ(half.stage_peaks[3], job.stage_peaks[3]) << "an evaluation saves nothing";
  EXPECT_NEAR(total_macs(half.work) / total_macs(job.work), 1 + 0.5 / 3, 1e-6) << "half of a forward again";
  EXPECT_EQ(half.effect, Effect::kRounding);

  job.measured["memory_budget:0.5"] = job.stage_peaks;
  job.measured["memory_budget:0.5"][0].holdings.activations = scaled(before, 0.6);
  job.measured_work["memory_budget:0.5"] = job.work;
  const Forecast seen = forecast_with(memory_budget(), job, example_target(), changes[0]);
  EXPECT_EQ(seen.stage_peaks[0].holdings.activations, scaled(before, 0.6));
  EXPECT_EQ(total_macs(seen.work), total_macs(job.work));
  EXPECT_EQ(seen.measured_with, "memory_budget:0.5");
  EXPECT_EQ(forecast_with(memory_budget(), job, example_target(), changes[1]).measured_with, "");
}

TEST(MemoryBudget, is_for_what_torch_compile_compiles_without_one) {
  model::Job job = job_with_everything_applicable();
  ASSERT_EQ(memory_budget().applies_to(job, example_target()), applicable());
  job.compiler->memory_budget = 0.3;
  EXPECT_EQ(memory_budget().applies_to(job, example_target()),
            in_force("the script has torch.compile save at most 0.3 of what it would already"));
  job.compiler->memory_budget.reset();
  EXPECT_EQ(memory_budget().applies_to(job, example_target()),
            not_possible("torch.compile of this release of PyTorch has no activation_memory_budget"));
  job.compiler.reset();
  EXPECT_EQ(memory_budget().applies_to(job, example_target()),
            not_possible("no training was seen that torch.compile compiles"));
}

}  // namespace
}  // namespace vramfit::plan
