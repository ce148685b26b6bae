#include <gtest/gtest.h>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(Attention, frees_the_scores_that_it_keeps_as_a_run_showed_it) {
  model::Job job = job_with_everything_applicable();
  const auto change = attention().options(job, example_target())[0];
  const Bytes before = job.stage_peaks[0].holdings.activations;
  EXPECT_NEAR(forecast_with(attention(), job, example_target(), change).stage_peaks[0].holdings.activations.as_mib(),
              before.as_mib() - 300, 0.01);
  job.measured["attention"] = job.stage_peaks;
  job.measured["attention"][0].holdings.activations = scaled(before, 0.5);
  const Forecast forecast = forecast_with(attention(), job, example_target(), change);
  EXPECT_EQ(forecast.stage_peaks[0].holdings.activations, scaled(before, 0.5));
  EXPECT_EQ(forecast.measured_with, "attention");
  EXPECT_EQ(forecast.effect, Effect::kRounding);
}

TEST(Attention, says_with_figures_where_it_does_not_help) {
  model::Job job = job_with_everything_applicable();
  const auto reason_of = [&] { return attention().applies_to(job, example_target()).reason; };
  job.attention = model::AttentionFacts{Bytes(0), 0, Bytes(0), Bytes(0), Bytes::mib(700)};
  EXPECT_EQ(attention().applies_to(job, example_target()).standing, Standing::kInForce);
  EXPECT_EQ(reason_of(), "its attention runs in fused kernels already, which keep nothing of 700 MiB of scores");
  job.attention->scores = Bytes::mib(1);
  EXPECT_EQ(reason_of(), "scores that its attention keeps are 1.0 MiB alone");
  job.attention->scores = Bytes::mib(300);
  job.attention->calls = 12;
  EXPECT_TRUE(reason_of().starts_with("the script's own lines multiply queries and keys, and keep 300 MiB of scores"))
      << reason_of();
  job.attention->eager = "GPT2Model";
  EXPECT_EQ(attention().applies_to(job, example_target()).standing, Standing::kApplicable);
  job.attention->why_not = "GPT2Model has eager attention only";
  EXPECT_EQ(reason_of(), "GPT2Model has eager attention only");
  job.attention.reset();
  EXPECT_EQ(attention().applies_to(job, example_target()).standing, Standing::kNotPossible);
}

}  // namespace
}  // namespace vramfit::plan
