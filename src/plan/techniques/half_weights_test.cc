#include <gtest/gtest.h>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(HalfWeights, halve_what_is_held_but_the_inputs) {
  const model::Job job = example_job();
  ASSERT_EQ(half_weights().applies_to(job, example_target()), applicable());
  const auto change = half_weights().options(job, example_target()).front();
  const Forecast forecast = forecast_with(half_weights(), job, example_target(), change);
  const model::Holdings& holdings = forecast.stage_peaks[2].holdings;
  EXPECT_EQ(holdings.weights, Bytes::mib(100)) << "they are whole while they are loaded";
  EXPECT_EQ(forecast.later_weights, 0.5);
  EXPECT_EQ(forecast.gradient_share, 0.5);
  EXPECT_EQ(holdings.optimizer, Bytes::mib(100));
  EXPECT_EQ(holdings.inputs, Bytes::mib(20));
  EXPECT_EQ(forecast.effect, Effect::kUpdates);
}

TEST(HalfWeights, take_what_a_run_of_their_own_showed) {
  model::Job job = example_job();
  job.measured["half_weights"] = job.stage_peaks;
  for (model::StagePeak& moment : job.measured["half_weights"]) {
    moment.holdings.activations = scaled(moment.holdings.activations, 0.75);
  }
  const auto change = half_weights().options(job, example_target()).front();
  const Forecast forecast = forecast_with(half_weights(), job, example_target(), change);
  EXPECT_EQ(forecast.measured_with, "half_weights");
  EXPECT_EQ(forecast.stage_peaks[2].holdings.activations, scaled(job.stage_peaks[2].holdings.activations, 0.75));
}

TEST(HalfWeights, need_a_card_and_a_script_that_they_are_for) {
  const Target target = example_target();
  Target older = target;
  older.card.capability = {7, 5};
  EXPECT_EQ(half_weights().applies_to(example_job(), older).standing, Standing::kNotPossible);
  model::Job job = example_job();
  job.precision.scaler = true;
  EXPECT_EQ(half_weights().applies_to(job, target).standing, Standing::kNotPossible);
  job = example_job();
  job.parameter_bytes = Bytes(2 * job.parameters);
  EXPECT_EQ(half_weights().applies_to(job, target).standing, Standing::kInForce);
}

}  // namespace
}  // namespace vramfit::plan
