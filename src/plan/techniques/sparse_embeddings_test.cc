#include <gtest/gtest.h>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(SparseEmbeddings, frees_the_gradients_of_rows_that_are_not_used) {
  model::Job job = job_with_everything_applicable();
  const auto change = sparse_embeddings().options(job, example_target()).front();
  EXPECT_EQ(sparse_embeddings().describe(change), "sparse gradients of embeddings, SparseAdam");
  const Bytes gradients = Bytes::mib(100);
  const Forecast forecast = forecast_with(sparse_embeddings(), job, example_target(), change);
  EXPECT_NEAR(forecast.gradient_share, 1 - 36.0 / (static_cast<double>(gradients.count()) / (1 << 20)), 1e-6);
  EXPECT_EQ(forecast.effect, Effect::kOptimizer);
  EXPECT_EQ(forecast.stage_peaks[2].holdings.optimizer, job.stage_peaks[2].holdings.optimizer) << "moments are whole";
  job.sparse_embeddings->same = true;
  const auto own = sparse_embeddings().options(job, example_target()).front();
  EXPECT_TRUE(own.settings.empty());
  EXPECT_EQ(forecast_with(sparse_embeddings(), job, example_target(), own).effect, Effect::kRounding);
  EXPECT_EQ(sparse_embeddings().slot(), optimizer().slot());
}

TEST(SparseEmbeddings, is_for_large_ones_of_which_a_step_uses_few_rows) {
  model::Job job = job_with_everything_applicable();
  ASSERT_EQ(sparse_embeddings().applies_to(job, example_target()), applicable());
  job.sparse_embeddings->touched = Bytes::mib(30);
  EXPECT_EQ(sparse_embeddings().applies_to(job, example_target()).reason,
            "a step uses as many rows of the embeddings as they have");
  job.sparse_embeddings->weights = Bytes::mib(4);
  EXPECT_EQ(sparse_embeddings().applies_to(job, example_target()).reason,
            "gradients of embeddings are 4 % of all gradients");
  job.sparse_embeddings->why_not = "NAdam takes no sparse gradients";
  EXPECT_EQ(sparse_embeddings().applies_to(job, example_target()).reason, "NAdam takes no sparse gradients");
  job.sparse_embeddings.reset();
  EXPECT_EQ(sparse_embeddings().applies_to(job, example_target()).standing, Standing::kNotPossible);
}

}  // namespace
}  // namespace vramfit::plan
