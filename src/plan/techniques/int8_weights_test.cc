#include <gtest/gtest.h>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(Int8Weights, leave_the_weights_that_a_run_with_them_showed) {
  model::Job job = evaluating_job();
  add_measured(job, "int8_weights", Bytes::mib(2626), Bytes::mib(104));
  const auto change = int8_weights().options(job, example_target())[0];
  Forecast forecast = forecast_with(int8_weights(), job, example_target(), change);
  EXPECT_NEAR(forecast.weight_share, 0.26, 1e-9);
  EXPECT_EQ(forecast.stage_peaks[1].holdings.activations, Bytes::mib(2626)) << "a layer's weights as numbers";
  EXPECT_EQ(forecast.effect, Effect::kPrecision);
  half_evaluation().predict(job, example_target(), half_evaluation().options(job, example_target())[1], forecast);
  EXPECT_NEAR(forecast.weight_share, 0.26, 1e-9) << "8 bits are not halved again";
}

TEST(Int8Weights, are_for_jobs_that_only_evaluate_and_whose_weights_matter) {
  model::Job job = evaluating_job();
  ASSERT_EQ(int8_weights().applies_to(job, example_target()), applicable());
  job.parameter_bytes = Bytes::mib(90);
  EXPECT_EQ(int8_weights().applies_to(job, example_target()).reason,
            "weights are 90 MiB of the 3.28 GiB that evaluation needs");
  EXPECT_EQ(int8_weights().applies_to(example_job(), example_target()).reason,
            "the script trains (AdamW): weights stay as they are");
}

}  // namespace
}  // namespace vramfit::plan
