#include <gtest/gtest.h>

#include <string>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(Lora, leaves_gradients_and_state_of_the_adapters_alone) {
  const model::Job job = job_with_everything_applicable();
  const auto options = lora().options(job, example_target());
  ASSERT_EQ(options.size(), 3U);
  const Forecast forecast = forecast_with(lora(), job, example_target(), options[0]);
  const double share = (8 * 100'000.0 + 10'000) / 26'000'000;
  EXPECT_EQ(forecast.stage_peaks[2].holdings.optimizer, scaled(Bytes::mib(200), share));
  EXPECT_EQ(forecast.gradient_share, share);
  EXPECT_EQ(forecast.stage_peaks[2].holdings.temporaries, scaled(Bytes::mib(200), share));
  EXPECT_EQ(forecast.stage_peaks[0].holdings.activations, job.stage_peaks[0].holdings.activations);
  EXPECT_EQ(forecast.effect, Effect::kOptimizer);
  EXPECT_GT(forecast.later_weights, 1) << "the adapters come on top";
}

TEST(Lora, holds_weights_in_half_once_training_begins) {
  const model::Job job = job_with_everything_applicable();
  const auto change = lora().options(job, example_target())[1];
  EXPECT_EQ(lora().describe(change), "LoRA of rank 8, frozen weights in bf16");
  const Forecast forecast = forecast_with(lora(), job, example_target(), change);
  const double bytes = static_cast<double>(job.parameter_bytes.count());
  EXPECT_NEAR(forecast.later_weights, 1 - (2 * 24e6 - 4 * 8 * 1e5) / bytes, 1e-9);
}

TEST(Lora, holds_weights_beside_adapters_in_4_bits_and_pays_for_making_them_again) {
  model::Job job = job_with_everything_applicable();
  const auto options = lora().options(job, example_target());
  EXPECT_EQ(lora().describe(options[2]), "LoRA of rank 8, frozen weights in 4 bits");
  const Forecast in_half = forecast_with(lora(), job, example_target(), options[1]);
  const Forecast in_4_bits = forecast_with(lora(), job, example_target(), options[2]);
  const double bytes = static_cast<double>(job.parameter_bytes.count());
  const double adapted = static_cast<double>(job.linear_layers->adapted), halved = 24e6;
  const double saved = adapted * (4 - 4 / 64.0 - 0.5) + (halved - adapted) * 2;
  EXPECT_NEAR(in_4_bits.later_weights, 1 - (saved - 4 * 8 * 1e5) / bytes, 1e-9);
  EXPECT_LT(in_4_bits.later_weights, in_half.later_weights);
  EXPECT_GT(in_4_bits.work.other_bytes, in_half.work.other_bytes);
  job.linear_layers->halved = 0;  // they are in bf16 today
  const auto of_bf16 = lora().options(job, example_target());
  ASSERT_EQ(of_bf16.size(), 2U);
  EXPECT_EQ(of_bf16[1], options[2]);
  EXPECT_LT(forecast_with(lora(), job, example_target(), of_bf16[1]).later_weights, 1);
}

TEST(Lora, keeps_what_its_own_run_kept_each_type_by_itself) {
  model::Job job = job_with_everything_applicable();
  const auto changes = lora().find_all_measurable(job, example_target());
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(forecast_with(lora(), job, example_target(), changes[0]).measured_with, "");
  job.measured["lora"] = job.stage_peaks;
  for (model::StagePeak& moment : job.measured["lora"]) {
    moment.holdings.activations = scaled(moment.holdings.activations, 0.75);
  }
  const Forecast forecast = forecast_with(lora(), job, example_target(), changes[0]);
  EXPECT_EQ(forecast.measured_with, "lora");
  EXPECT_EQ(forecast.stage_peaks[2].holdings.activations, scaled(job.stage_peaks[2].holdings.activations, 0.75));
  EXPECT_EQ(forecast_with(lora(), job, example_target(), changes[1]).measured_with, "") << "its weights are in bf16";
  job.measured["lora:bfloat16"] = job.stage_peaks;
  EXPECT_EQ(forecast_with(lora(), job, example_target(), changes[1]).measured_with, "lora:bfloat16");
}

TEST(Lora, is_for_networks_that_learnt_before_and_train_linear_layers) {
  model::Job job = job_with_everything_applicable();
  const Target target = example_target();
  EXPECT_EQ(lora().applies_to(job, target), applicable());
  job.linear_layers->loaded = false;
  EXPECT_NE(lora().applies_to(job, target).reason.find("no weights were loaded"), std::string::npos);
  job.linear_layers = {26'000'000, 0, 2'000'000, 4, 10'000, 10'000, 2'000'000, true};
  EXPECT_NE(lora().applies_to(job, target).reason.find("8 % of what it trains"), std::string::npos);
  job.linear_layers = {1'000'000, 25'000'000, 900'000, 4, 10'000, 10'000, 0, true};
  EXPECT_EQ(lora().applies_to(job, target).standing, Standing::kInForce);
  job.linear_layers.reset();
  EXPECT_EQ(lora().applies_to(job, target).standing, Standing::kNotPossible);
}

}  // namespace
}  // namespace vramfit::plan
