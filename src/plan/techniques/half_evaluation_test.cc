#include <gtest/gtest.h>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(HalfEvaluation, halves_what_was_measured_and_leaves_training_alone) {
  model::Job job = example_job();
  job.stage_peaks[3].holdings.activations = Bytes::mib(3000);
  add_measured(job, "half_evaluation", Bytes::mib(1800), Bytes::mib(100));
  ASSERT_EQ(half_evaluation().applies_to(job, example_target()), applicable());
  const auto options = half_evaluation().options(job, example_target());
  ASSERT_EQ(options.size(), 1U) << "weights that are trained stay as they are";
  EXPECT_EQ(half_evaluation().describe(options[0]), "evaluation in bf16");
  const Forecast forecast = forecast_with(half_evaluation(), job, example_target(), options[0]);
  EXPECT_EQ(forecast.stage_peaks[3].holdings.activations, Bytes::mib(1800));
  EXPECT_EQ(forecast.stage_peaks[3].holdings.weights, Bytes::mib(100)) << "without autocast's cache";
  EXPECT_EQ(forecast.stage_peaks[0], job.stage_peaks[0]);
  EXPECT_EQ(forecast.effect, Effect::kPrecision);
  EXPECT_EQ(forecast.measured_with, "half_evaluation") << "played from the run of its own";
  EXPECT_EQ(half_evaluation().slot(), autocast().slot());
}

TEST(HalfEvaluation, keeps_weights_in_half_where_nothing_is_trained) {
  const model::Job job = evaluating_job();
  const auto options = half_evaluation().options(job, example_target());
  ASSERT_EQ(options.size(), 2U);
  const Forecast forecast = forecast_with(half_evaluation(), job, example_target(), options[1]);
  EXPECT_EQ(forecast.weight_share, 0.5);
  const Bytes load = add_up(job, start_forecast(job)).phases[0].peak;
  EXPECT_NEAR((load - add_up(job, forecast).phases[0].peak).as_mib(), 200, 20) << "they go to the card in half";
  Target turing = example_target();
  turing.card.capability = {7, 5};
  EXPECT_EQ(half_evaluation().describe(half_evaluation().options(job, turing)[1]), "evaluation in fp16, weights too");
}

TEST(HalfEvaluation, says_in_numbers_that_evaluation_is_not_what_runs_out) {
  const Applicability found = half_evaluation().applies_to(example_job(), example_target());
  EXPECT_EQ(found.standing, Standing::kNotPossible);
  EXPECT_EQ(found.reason, "evaluation needs 920 MiB of 2.00 GiB: it is not what runs out");
  model::Job job = evaluating_job();
  job.precision.autocast = "float16";
  EXPECT_EQ(half_evaluation().applies_to(job, example_target()).standing, Standing::kInForce);
  job = evaluating_job();
  job.stage_peaks.clear();
  EXPECT_EQ(half_evaluation().applies_to(job, example_target()).reason, "the script does not evaluate");
}

}  // namespace
}  // namespace vramfit::plan
