#include <gtest/gtest.h>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(EffectiveBatch, is_only_given_up_on_request) {
  const model::Job job = example_job();
  Target target = example_target();
  EXPECT_EQ(effective_batch().applies_to(job, target).standing, Standing::kNotPossible);
  target.keep_effective_batch = false;
  EXPECT_EQ(effective_batch().options(job, target).size(), 7U);
  EXPECT_EQ(forecast_with(effective_batch(), job, target, effective_batch().options(job, target)[0]).effect,
            Effect::kOptimizer);
}

}  // namespace
}  // namespace vramfit::plan
