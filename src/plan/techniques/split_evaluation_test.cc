#include <gtest/gtest.h>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(SplitEvaluation, is_for_batches_that_no_loader_makes) {
  const Target target = example_target();
  EXPECT_EQ(split_evaluation().applies_to(evaluating_job_without_loader(), target), applicable());
  model::Job job = evaluating_job();
  ASSERT_EQ(validation_batch().applies_to(job, target), applicable());
  EXPECT_EQ(split_evaluation().applies_to(job, target).standing, Standing::kNotPossible);
  job = evaluating_job_without_loader();
  job.evaluated_at_once = 1;
  EXPECT_EQ(split_evaluation().applies_to(job, target).standing, Standing::kInForce);
  job.evaluated_at_once = 4;
  EXPECT_EQ(split_evaluation().options(job, target).size(), 2U) << "2 and 4 parts";
  job.validates_with_gradients = true;
  EXPECT_EQ(split_evaluation().applies_to(job, target).standing, Standing::kNotPossible);
}

TEST(SplitEvaluation, shrinks_what_lives_between_whole_inputs_and_outputs) {
  const model::Job job = evaluating_job_without_loader();
  const Target target = example_target();
  const auto options = split_evaluation().options(job, target);
  ASSERT_EQ(options.size(), 4U);  // 2 to 16
  const Forecast forecast = forecast_with(split_evaluation(), job, target, options[1]);
  for (std::size_t i = 0; i < job.stage_peaks.size(); ++i) {
    const model::Holdings &before = job.stage_peaks[i].holdings, &after = forecast.stage_peaks[i].holdings;
    EXPECT_EQ(after.inputs, before.inputs);
    EXPECT_EQ(after.weights, before.weights);
    const double share = is_evaluation(job.stage_peaks[i]) ? 0.25 : 1;
    EXPECT_EQ(after.activations, scaled(before.activations, share));
  }
  EXPECT_EQ(split_evaluation().describe(options[1]), "evaluation in 4 parts of a batch");
}

}  // namespace
}  // namespace vramfit::plan
