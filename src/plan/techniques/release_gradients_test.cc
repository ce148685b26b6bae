#include <gtest/gtest.h>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(ReleaseGradients, leaves_the_gradient_and_the_temporaries_of_one_parameter) {
  const model::Job job = example_job();
  const Target target = example_target();
  ASSERT_EQ(release_gradients().applies_to(job, target), applicable());
  const auto change = release_gradients().options(job, target).front();
  const Forecast forecast = forecast_with(release_gradients(), job, target, change);
  EXPECT_EQ(forecast.stage_peaks[1].holdings.gradients, Bytes::mib(10));
  EXPECT_EQ(forecast.stage_peaks[1].holdings.activations, job.stage_peaks[1].holdings.activations);
  EXPECT_EQ(forecast.stage_peaks[2].holdings.gradients, Bytes(0)) << "the script's step finds none";
  EXPECT_EQ(forecast.stage_peaks[2].holdings.temporaries, Bytes::mib(20));
  EXPECT_EQ(forecast.stage_peaks[3], job.stage_peaks[3]);
  EXPECT_EQ(forecast.effect, Effect::kSame);
}

TEST(ReleaseGradients, never_adds_up_micro_batches) { EXPECT_EQ(release_gradients().slot(), micro_batch().slot()); }

TEST(ReleaseGradients, is_not_advised_where_a_step_needs_all_gradients_or_they_are_few) {
  const Target target = example_target();
  model::Job job = example_job();
  job.optimizer->class_name = "LBFGS";
  EXPECT_EQ(release_gradients().applies_to(job, target).standing, Standing::kNotPossible);
  job = example_job();
  job.precision.scaler = true;
  EXPECT_EQ(release_gradients().applies_to(job, target).standing, Standing::kNotPossible);
  job = example_job();
  job.optimizer->largest = Bytes::mib(95);
  EXPECT_EQ(release_gradients().applies_to(job, target).reason,
            "of 2.85 GiB at the peak, gradients hold 100 MiB, of which 95 MiB are of one parameter");
}

}  // namespace
}  // namespace vramfit::plan
