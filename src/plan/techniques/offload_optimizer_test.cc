#include <gtest/gtest.h>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(OffloadOptimizer, leaves_the_state_of_what_a_step_updates_at_once) {
  const model::Job job = example_job();
  const Target target = example_target();
  ASSERT_EQ(offload_optimizer().applies_to(job, target), applicable());
  const auto change = offload_optimizer().options(job, target).front();
  const Forecast forecast = forecast_with(offload_optimizer(), job, target, change);
  EXPECT_EQ(forecast.stage_peaks[1].holdings.optimizer, Bytes(0)) << "in backward, all of it waits";
  EXPECT_EQ(forecast.stage_peaks[2].holdings.optimizer, scaled(Bytes::mib(200), 0.64)) << "64 MiB of 100 at once";
  EXPECT_EQ(forecast.stage_peaks[2].holdings.temporaries, scaled(Bytes::mib(200), 0.64));
  EXPECT_EQ(forecast.stage_peaks[2].holdings.gradients, job.stage_peaks[2].holdings.gradients);
  EXPECT_EQ(forecast.stage_peaks[3].holdings.optimizer, Bytes(0)) << "an evaluation finds none of it";
  EXPECT_EQ(find_work(forecast).host_bytes, 2.0 * Bytes::mib(200).count()) << "there and back";
  EXPECT_EQ(forecast.effect, Effect::kSame);
}

TEST(OffloadOptimizer, is_not_advised_where_there_is_no_state_or_no_other_memory) {
  model::Job job = example_job();
  job.optimizer->state = Bytes::mib(50);
  EXPECT_EQ(offload_optimizer().applies_to(job, example_target()).reason,
            "of 2.85 GiB at the peak, 50 MiB are AdamW's state");
  job = example_job();
  job.optimizer->class_name = "LBFGS";
  EXPECT_EQ(offload_optimizer().applies_to(job, example_target()).standing, Standing::kNotPossible);
  Target target = example_target();
  target.card.is_integrated = true;
  EXPECT_EQ(offload_optimizer().applies_to(example_job(), target).standing, Standing::kNotPossible);
  EXPECT_EQ(offload_optimizer().slot(), optimizer().slot()) << "other optimizers have steps of their own";
}

}  // namespace
}  // namespace vramfit::plan
