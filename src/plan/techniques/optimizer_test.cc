#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "plan/promise.h"
#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(Optimizer, offers_the_same_updates_with_fewer_temporaries_first) {
  const auto options = optimizer().options(example_job(), example_target());
  std::vector<std::string> names;
  for (const auto& change : options) names.push_back(optimizer().describe(change));
  EXPECT_EQ(names, (std::vector<std::string>{"AdamW foreach=False", "AdamW fused", "SGD", "Adafactor"}));
  EXPECT_EQ(forecast_with(optimizer(), example_job(), example_target(), options[0]).effect, Effect::kSame);
  EXPECT_EQ(forecast_with(optimizer(), example_job(), example_target(), options[2]).effect, Effect::kOptimizer);
}

TEST(Optimizer, keeps_moments_in_8_bits_where_bitsandbytes_is_installed) {
  model::Job job = example_job();
  job.optimizer->has_bitsandbytes = true;
  const auto options = optimizer().options(job, example_target());
  const auto eight_bit = std::ranges::find_if(options, is_eight_bit);
  ASSERT_NE(eight_bit, options.end());
  EXPECT_EQ(optimizer().describe(*eight_bit), "AdamW8bit");
  const Forecast forecast = forecast_with(optimizer(), job, example_target(), *eight_bit);
  EXPECT_EQ(forecast.effect, Effect::kPrecision);
  EXPECT_EQ(forecast.stage_peaks[2].holdings.optimizer, scaled(job.stage_peaks[2].holdings.optimizer, 2.03125 / 8));
  job.optimizer->class_name = "SGD";
  EXPECT_TRUE(std::ranges::none_of(optimizer().options(job, example_target()), is_eight_bit));
}

TEST(Optimizer, moments_in_8_bits_save_less_of_a_job_in_bfloat16) {
  model::Job job = example_job();
  job.optimizer->has_bitsandbytes = true;
  job.parameters = job.parameter_bytes.count() / 2;
  const auto options = optimizer().options(job, example_target());
  const auto eight_bit = std::ranges::find_if(options, is_eight_bit);
  ASSERT_NE(eight_bit, options.end());
  const Forecast forecast = forecast_with(optimizer(), job, example_target(), *eight_bit);
  EXPECT_EQ(forecast.stage_peaks[2].holdings.optimizer, scaled(job.stage_peaks[2].holdings.optimizer, 2.03125 / 4));
}

TEST(Optimizer, adafactor_keeps_what_the_shapes_of_this_job_say) {
  model::Job job = example_job();
  job.optimizer->factored = Bytes::mib(6);
  const auto change = optimizer().options(job, example_target()).back();
  ASSERT_EQ(optimizer().describe(change), "Adafactor");
  EXPECT_EQ(forecast_with(optimizer(), job, example_target(), change).stage_peaks[2].holdings.optimizer, Bytes::mib(6));
  job.optimizer->factored = Bytes::mib(130);  // 3 x 3 kernels: two thirds of each weight
  EXPECT_EQ(optimizer().describe(optimizer().options(job, example_target()).back()), "SGD") << "it keeps less";
  job.optimizer->factored = Bytes::mib(220);
  for (const auto& one : optimizer().options(job, example_target())) EXPECT_NE(optimizer().describe(one), "Adafactor");
}

TEST(Optimizer, lion_is_another_training_with_one_moment_in_8_bits) {
  model::Job job = example_job();
  job.optimizer->has_bitsandbytes = true;
  const auto options = optimizer().options(job, example_target());
  const auto lion = std::ranges::find_if(
      options, [](const model::Change& change) { return optimizer().describe(change) == "Lion8bit"; });
  ASSERT_NE(lion, options.end());
  EXPECT_FALSE(is_eight_bit(*lion)) << "that promises Adam's steps in fewer bits";
  const Forecast forecast = forecast_with(optimizer(), job, example_target(), *lion);
  EXPECT_EQ(forecast.effect, Effect::kOptimizer);
  EXPECT_EQ(forecast.stage_peaks[2].holdings.optimizer, scaled(job.stage_peaks[2].holdings.optimizer, 2.03125 / 16));
  Bytes before = add_up(job, start_forecast(job)).needs;
  for (const model::Change& change : options) {
    const Bytes needs = needs_with(optimizer(), job, example_target(), change);
    EXPECT_LE(needs, before) << optimizer().describe(change);
    before = needs;
  }
}

TEST(Optimizer, fused_sgd_already_keeps_as_little_as_it_can) {
  model::Job job = example_job();
  job.optimizer = model::OptimizerFacts{"SGD", std::nullopt, true, Bytes::mib(100)};
  EXPECT_EQ(optimizer().applies_to(job, example_target()).standing, Standing::kInForce);
}

}  // namespace
}  // namespace vramfit::plan
