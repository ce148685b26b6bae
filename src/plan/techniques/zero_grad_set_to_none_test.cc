#include <gtest/gtest.h>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

model::Job job_that_keeps_gradients(bool after_forward) {
  model::Job job = example_job();
  job.kept_gradients = model::KeptGradients{"train.py:31 in train", after_forward};
  for (model::StagePeak& moment : job.stage_peaks) moment.holdings.gradients = Bytes::mib(100);
  return job;
}

TEST(ZeroGradSetToNone, frees_gradients_while_activations_are_alive) {
  const model::Job job = job_that_keeps_gradients(false);
  const auto change = zero_grad_set_to_none().options(job, example_target())[0];
  const Forecast forecast = forecast_with(zero_grad_set_to_none(), job, example_target(), change);
  EXPECT_EQ(forecast.stage_peaks[0].holdings.gradients, Bytes(0));
  EXPECT_EQ(forecast.stage_peaks[1].holdings.gradients, Bytes::mib(50)) << "they come back as the pass goes on";
  EXPECT_EQ(forecast.stage_peaks[2], job.stage_peaks[2]) << "the optimizer needs all of them";
  EXPECT_EQ(forecast.stage_peaks[3], job.stage_peaks[3]) << "an evaluation may come before they are zeroed";
  EXPECT_EQ(forecast.effect, Effect::kSame);
}

TEST(ZeroGradSetToNone, leaves_a_forward_pass_what_is_zeroed_after_it) {
  const model::Job job = job_that_keeps_gradients(true);
  const auto change = zero_grad_set_to_none().options(job, example_target())[0];
  const Forecast forecast = forecast_with(zero_grad_set_to_none(), job, example_target(), change);
  EXPECT_EQ(forecast.stage_peaks[0], job.stage_peaks[0]);
  EXPECT_EQ(forecast.stage_peaks[1].holdings.gradients, Bytes::mib(50));
}

TEST(ZeroGradSetToNone, frees_nothing_beside_micro_batches) {
  const model::Job job = job_that_keeps_gradients(false);
  const auto change = zero_grad_set_to_none().options(job, example_target())[0];
  Forecast forecast =
      forecast_with(micro_batch(), job, example_target(), micro_batch().options(job, example_target())[0]);
  const Forecast before = forecast;
  zero_grad_set_to_none().predict(job, example_target(), change, forecast);
  EXPECT_EQ(forecast.stage_peaks, before.stage_peaks) << "the next micro-batch adds to the gradients of the last";
}

TEST(ZeroGradSetToNone, is_only_possible_where_the_script_keeps_them) {
  EXPECT_EQ(zero_grad_set_to_none().applies_to(example_job(), example_target()).standing, Standing::kNotPossible);
  EXPECT_EQ(zero_grad_set_to_none().applies_to(job_that_keeps_gradients(false), example_target()), applicable());
}

}  // namespace
}  // namespace vramfit::plan
