#include <gtest/gtest.h>

#include <vector>

#include "plan/measured_shares.h"
#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(ResizeInput, follows_what_a_run_at_half_of_the_size_showed) {
  model::Job job = example_job();
  const auto options = resize_input().options(job, example_target());
  const auto half = resize_input().find_all_measurable(job, example_target()).front();
  ASSERT_EQ(half, options[1]) << "what the other can be guessed from comes first";
  add_measured(job, "resize_input:0.5", Bytes::mib(0), Bytes::mib(100));
  job.measured["resize_input:0.5"][0].holdings.activations =
      Bytes::mib(2600 * 4 / 10);  // 0.4: 0.15 of it does not shrink
  EXPECT_EQ(forecast_with(resize_input(), job, example_target(), half).stage_peaks[0].holdings.activations,
            Bytes::mib(1040));
  EXPECT_NEAR(
      forecast_with(resize_input(), job, example_target(), options[0]).stage_peaks[0].holdings.activations.as_mib(),
      2600 * (1 - 0.6 * (1 - 0.5625) / 0.75), 1);
  EXPECT_EQ(forecast_with(resize_input(), job, example_target(), half).stage_peaks[0].holdings.weights,
            Bytes::mib(100));
  // Sequences: half of the length left 0.3: by 0.2 of the length and 0.8 of its square.
  job.loaders[0].shapes = {{8, 512}};
  job.measured["resize_input:0.5"][0].holdings.activations = Bytes::mib(780);
  EXPECT_NEAR(
      forecast_with(resize_input(), job, example_target(), options[0]).stage_peaks[0].holdings.activations.as_mib(),
      2600 * (0.2 * 0.75 + 0.8 * 0.5625), 1);
}

TEST(ResizeInput, of_each_size_its_own_run_is_what_counts) {
  model::Job job = example_job();
  const auto options = resize_input().options(job, example_target());
  const auto measurable = resize_input().find_all_measurable(job, example_target());
  ASSERT_EQ(measurable, (std::vector{options[1], options[0]}));
  add_measured(job, "resize_input:0.5", Bytes::mib(0), Bytes::mib(100));
  add_measured(job, "resize_input:0.75", Bytes::mib(0), Bytes::mib(100));
  ASSERT_EQ(measured_key(options[0]), "resize_input:0.75");
  job.measured["resize_input:0.75"][0].holdings.activations = Bytes::mib(2700);  // larger workspaces than at whole size
  const Forecast forecast = forecast_with(resize_input(), job, example_target(), options[0]);
  EXPECT_EQ(forecast.stage_peaks[0].holdings.activations, Bytes::mib(2700));
  EXPECT_EQ(forecast.measured_with, "resize_input:0.75");
  EXPECT_EQ(forecast.inputs_left, forecast.inputs_left_measured) << "nothing lies between";
}

TEST(ResizeInput, counts_the_sides_that_the_inputs_come_to) {
  model::Job job = example_job();
  job.loaders[0].shapes = {{8, 64}};  // 48 is no multiple of 32
  ASSERT_EQ(resize_input().options(job, example_target()).size(), 1u) << "x 0.75 leaves 64 as they are";
  job.loaders[0].shapes = {{8, 3, 224, 224}};  // 168 becomes 160, and 112 128
  const auto options = resize_input().options(job, example_target());
  ASSERT_EQ(options.size(), 2u);
  const Forecast forecast = forecast_with(resize_input(), job, example_target(), options[0]);
  EXPECT_NEAR(forecast.stage_peaks[0].holdings.activations.as_mib(), 2600 * 160.0 * 160 / (224 * 224), 1);
}

TEST(ResizeInput, scales_images_with_the_area_and_says_that_accuracy_changes) {
  const auto options = resize_input().options(example_job(), example_target());
  const Forecast forecast = forecast_with(resize_input(), example_job(), example_target(), options.back());
  EXPECT_EQ(forecast.stage_peaks[0].holdings.activations, Bytes::mib(650));
  EXPECT_EQ(forecast.effect, Effect::kInput);
  model::Job tabular = example_job();
  tabular.loaders[0].shapes = {{8}};
  EXPECT_EQ(resize_input().applies_to(tabular, example_target()).standing, Standing::kNotPossible);
}

}  // namespace
}  // namespace vramfit::plan
