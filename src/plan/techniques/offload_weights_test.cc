#include <gtest/gtest.h>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(OffloadWeights, leave_what_modules_read_at_once_and_pay_for_the_way) {
  model::Job job = evaluating_job();
  job.weights_at_once = Bytes::mib(40);
  ASSERT_EQ(offload_weights().applies_to(job, example_target()), applicable());
  const auto change = offload_weights().options(job, example_target())[0];
  Forecast forecast = forecast_with(offload_weights(), job, example_target(), change);
  EXPECT_EQ(forecast.stage_peaks[0].holdings.weights, Bytes::mib(40)) << "they do not go to the card with the network";
  EXPECT_EQ(forecast.stage_peaks[1].holdings.weights, Bytes::mib(40));
  EXPECT_EQ(forecast.stage_peaks[1].holdings.activations, Bytes::mib(2600));
  EXPECT_EQ(forecast.effect, Effect::kSame);
  EXPECT_EQ(find_work(forecast).host_bytes, job.work.host_bytes + 400.0 * Bytes::mib(1).count()) << "there, not back";
  job.evaluated_at_once = 16;
  split_evaluation().predict(job, example_target(), {"split_evaluation", {{"parts", std::int64_t{4}}}}, forecast);
  EXPECT_EQ(find_work(forecast).host_bytes, job.work.host_bytes + 1600.0 * Bytes::mib(1).count()) << "for each part";
}

TEST(OffloadWeights, are_as_a_run_of_their_own_showed_them) {
  model::Job job = evaluating_job();
  job.weights_at_once = Bytes::mib(40);
  add_measured(job, "offload_weights", Bytes::mib(2600), Bytes::mib(80));
  const auto change = offload_weights().options(job, example_target())[0];
  const Forecast forecast = forecast_with(offload_weights(), job, example_target(), change);
  EXPECT_EQ(forecast.stage_peaks[1].holdings.weights, Bytes::mib(80));
  EXPECT_EQ(forecast.evaluation_measured_with, "offload_weights");
}

TEST(OffloadWeights, of_a_training_stay_on_the_card_while_it_trains) {
  model::Job job = example_job();
  job.stage_peaks[3].holdings.activations = Bytes::mib(3000);
  job.weights_at_once = Bytes::mib(10);
  job.parameter_bytes = job.stage_peaks[3].holdings.weights = Bytes::mib(500);
  ASSERT_EQ(offload_weights().applies_to(job, example_target()), applicable());
  const auto change = offload_weights().options(job, example_target())[0];
  const Forecast forecast = forecast_with(offload_weights(), job, example_target(), change);
  EXPECT_EQ(forecast.stage_peaks[0], job.stage_peaks[0]);
  EXPECT_EQ(forecast.stage_peaks[3].holdings.weights, Bytes::mib(10));
  EXPECT_EQ(find_work(forecast).host_bytes, job.work.host_bytes) << "a training step is as it was";
}

TEST(OffloadWeights, are_for_evaluations_whose_weights_can_wait) {
  model::Job job = evaluating_job();
  job.weights_at_once = Bytes::mib(350);
  EXPECT_EQ(offload_weights().applies_to(job, example_target()).reason,
            "of 3.28 GiB that evaluation needs, 50 MiB are weights that could wait");
  job.weights_at_once = Bytes::mib(40);
  Target integrated = example_target();
  integrated.card.is_integrated = true;
  EXPECT_EQ(offload_weights().applies_to(job, integrated).reason, "the card has no memory but the host's");
  job.validates_with_gradients = true;
  EXPECT_EQ(offload_weights().applies_to(job, example_target()).reason, "the evaluation runs with gradients");
  EXPECT_EQ(offload_weights().applies_to(example_job(), example_target()).reason,
            "evaluation needs 920 MiB of 2.00 GiB: it is not what runs out");
}

}  // namespace
}  // namespace vramfit::plan
