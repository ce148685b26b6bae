#include <gtest/gtest.h>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(Int4Weights, leave_the_weights_that_a_run_with_them_showed_and_never_go_with_8_bits) {
  model::Job job = evaluating_job();
  const auto change = int4_weights().options(job, example_target())[0];
  EXPECT_NEAR(forecast_with(int4_weights(), job, example_target(), change).weight_share, 0.17, 1e-9);
  add_measured(job, "int4_weights", Bytes::mib(2640), Bytes::mib(60));
  const Forecast forecast = forecast_with(int4_weights(), job, example_target(), change);
  EXPECT_NEAR(forecast.weight_share, 0.15, 1e-9);
  EXPECT_EQ(forecast.stage_peaks[1].holdings.activations, Bytes::mib(2640));
  EXPECT_EQ(forecast.effect, Effect::kPrecision);
  EXPECT_EQ(int4_weights().slot(), int8_weights().slot());
  EXPECT_EQ(int4_weights().applies_to(example_job(), example_target()).standing, Standing::kNotPossible);
}

}  // namespace
}  // namespace vramfit::plan
