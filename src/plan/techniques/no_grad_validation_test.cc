#include <gtest/gtest.h>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(NoGradValidation, is_only_possible_where_evaluation_left_a_graph) {
  model::Job job = example_job();
  EXPECT_EQ(no_grad_validation().applies_to(job, example_target()).standing, Standing::kInForce);
  job.validates_with_gradients = true;
  EXPECT_EQ(no_grad_validation().applies_to(job, example_target()).standing, Standing::kApplicable);
  job.phases.pop_back();
  EXPECT_EQ(no_grad_validation().applies_to(job, example_target()).standing, Standing::kNotPossible);
}

}  // namespace
}  // namespace vramfit::plan
