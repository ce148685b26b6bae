#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

std::vector<std::string> described(const model::Job& job) {
  std::vector<std::string> words;
  for (const model::Change& change : split_forward().options(job, example_target()))
    words.push_back(split_forward().describe(change));
  return words;
}

TEST(SplitForward, holds_the_activations_of_one_part_and_works_a_forward_more) {
  const model::Job job = example_job();
  const model::Change change{"split_forward", {{"parts", std::int64_t{4}}}};
  const Forecast forecast = forecast_with(split_forward(), job, example_target(), change);
  EXPECT_EQ(forecast.stage_peaks[0].holdings.activations, scaled(job.stage_peaks[0].holdings.activations, 0.25));
  EXPECT_EQ(forecast.stage_peaks[0].holdings.inputs, job.stage_peaks[0].holdings.inputs) << "the script holds them";
  EXPECT_EQ(forecast.stage_peaks[0].holdings.gradients, job.parameter_bytes) << "they add up within backward";
  EXPECT_EQ(forecast.stage_peaks[3].holdings.activations, scaled(job.stage_peaks[3].holdings.activations, 0.25))
      << "an evaluation calls the network alike";
  EXPECT_EQ(forecast.stage_peaks[3].holdings.inputs, job.stage_peaks[3].holdings.inputs);
  EXPECT_EQ(forecast.effect, Effect::kSame);
  EXPECT_NEAR(total_macs(forecast.work), total_macs(job.work) * 4 / 3, total_macs(job.work) * 1e-9);
}

TEST(SplitForward, needs_no_loader) {
  model::Job job = example_job();
  job.loaders.clear();
  EXPECT_EQ(split_forward().applies_to(job, example_target()).standing, Standing::kApplicable);
  EXPECT_EQ(described(job),
            (std::vector<std::string>{"network in 2 parts of a batch", "network in 4 parts of a batch",
                                      "network in 8 parts of a batch", "network in 16 parts of a batch"}));
}

TEST(SplitForward, makes_no_more_parts_than_there_are_samples) {
  model::Job job = example_job();
  job.loaders[0].batch_size = 5;
  EXPECT_EQ(described(job),
            (std::vector<std::string>{"network in 2 parts of a batch", "network in 4 parts of a batch"}));
  job.has_batch_norm = true;
  EXPECT_EQ(described(job), (std::vector<std::string>{"network in 2 parts of a batch"})) << "two samples each at least";
  job.loaders[0].batch_size = 1;
  EXPECT_EQ(split_forward().applies_to(job, example_target()).standing, Standing::kInForce);
}

TEST(SplitForward, says_what_batch_normalisation_sees) {
  model::Job job = example_job();
  job.has_batch_norm = true;
  const auto change = split_forward().options(job, example_target()).front();
  EXPECT_EQ(forecast_with(split_forward(), job, example_target(), change).effect, Effect::kStatistics);
}

TEST(SplitForward, is_not_for_compiled_models) {
  model::Job job = example_job();
  job.precision.compiled = true;
  EXPECT_EQ(split_forward().applies_to(job, example_target()).standing, Standing::kNotPossible);
}

}  // namespace
}  // namespace vramfit::plan
