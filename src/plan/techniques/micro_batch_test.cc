#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(MicroBatch, frees_activations_only_and_keeps_gradients_alive) {
  const model::Job job = example_job();
  const auto change = micro_batch().options(job, example_target())[0];
  EXPECT_EQ(micro_batch().describe(change), "micro-batch 4 x 2");
  const Forecast forecast = forecast_with(micro_batch(), job, example_target(), change);
  EXPECT_EQ(forecast.stage_peaks[0].holdings.activations, Bytes::mib(1300));
  EXPECT_EQ(forecast.stage_peaks[0].holdings.gradients, Bytes::mib(100));
  EXPECT_EQ(forecast.stage_peaks[0].holdings.weights, Bytes::mib(100));
  EXPECT_EQ(forecast.stage_peaks[3], job.stage_peaks[3]) << "evaluation is not touched";
  EXPECT_EQ(forecast.effect, Effect::kSame);
}

TEST(MicroBatch, accumulates_to_the_same_batch_whatever_the_divisor) {
  model::Job job = example_job();
  job.loaders[0].batch_size = 12;
  for (const auto& change : micro_batch().options(job, example_target())) {
    EXPECT_EQ(*find_integer(change, "micro_batch") * *find_integer(change, "accumulate"), 12);
  }
  EXPECT_EQ(micro_batch().options(job, example_target()).size(), 5U);  // 6 4 3 2 1
}

TEST(MicroBatch, says_what_batch_normalisation_loses) {
  model::Job job = example_job();
  job.has_batch_norm = true;
  const auto change = micro_batch().options(job, example_target()).back();
  const Forecast forecast = forecast_with(micro_batch(), job, example_target(), change);
  EXPECT_EQ(forecast.effect, Effect::kStatistics);
  EXPECT_EQ(forecast.consequences,
            (std::vector<std::string>{"batch normalisation sees 2 samples at once instead of 8",
                                      "in a loop of the script's own, what it prints or adds up (a running loss) has 4 "
                                      "terms for each batch"}));
}

TEST(MicroBatch, leaves_batch_normalisation_at_least_two_samples_where_it_can) {
  model::Job job = example_job();
  job.has_batch_norm = true;
  EXPECT_EQ(micro_batch().describe(micro_batch().options(job, example_target()).back()), "micro-batch 2 x 4");
  job.loaders[0].batch_size = 3;
  EXPECT_EQ(micro_batch().describe(micro_batch().options(job, example_target()).back()), "micro-batch 1 x 3");
}

TEST(MicroBatch, needs_a_loader_and_more_than_one_sample) {
  model::Job job = example_job();
  job.loaders[0].batch_size = 1;
  EXPECT_EQ(micro_batch().applies_to(job, example_target()).standing, Standing::kInForce);
  job.loaders.clear();
  EXPECT_EQ(micro_batch().applies_to(job, example_target()).standing, Standing::kNotPossible);
}

}  // namespace
}  // namespace vramfit::plan
