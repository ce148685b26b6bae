#include "plan/forecast.h"

#include <gtest/gtest.h>

#include <string>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(Forecast, begins_from_the_run_that_shows_most) {
  Forecast forecast;
  EXPECT_EQ(find_best_run(forecast), "");
  forecast.evaluation_measured_with = "no_grad_validation";
  EXPECT_EQ(find_best_run(forecast), "no_grad_validation");
  forecast.step_measured_with = "release_gradients";
  EXPECT_EQ(find_best_run(forecast), "release_gradients");
  forecast.saved_measured_with = "offload_activations";
  EXPECT_EQ(find_best_run(forecast), "offload_activations");
  forecast.activation_scale = 0.5;
  EXPECT_EQ(find_best_run(forecast), "release_gradients") << "smaller tensors may stay on the card";
  forecast.activation_scale = 1;
  const model::Change checkpoint{"checkpoint", {}};
  forecast.repeats = &checkpoint;
  EXPECT_EQ(find_best_run(forecast), "release_gradients") << "other tensors are saved";
  forecast.measured_with = "autocast";
  EXPECT_EQ(find_best_run(forecast), "autocast") << "sizes are known from a run alone";
}

TEST(Forecast, lives_of_blocks_come_from_a_run_of_their_own) {
  model::Job job = example_job();
  for (const Technique* technique :
       {&no_grad_validation(), &offload_activations(), &release_gradients(), &offload_optimizer()}) {
    const model::Change change = technique->find_measurable(job, example_target()).value();
    EXPECT_TRUE(technique->is_foretold_unmeasured()) << technique->id();
    EXPECT_EQ(find_best_run(forecast_with(*technique, job, example_target(), change)), "");
    job.measured[std::string(technique->id())] = job.stage_peaks;
    EXPECT_EQ(find_best_run(forecast_with(*technique, job, example_target(), change)), technique->id());
  }
}

}  // namespace
}  // namespace vramfit::plan
