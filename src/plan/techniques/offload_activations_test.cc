#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(OffloadActivations, leaves_what_is_outside_of_the_blocks_and_what_is_at_work) {
  const model::Job job = example_job();
  const Target target = example_target();
  ASSERT_EQ(offload_activations().applies_to(job, target), applicable());
  const auto change = offload_activations().options(job, target).front();
  // 2600 - 12 x 200 outside the blocks, 3 x 200 at work
  const Bytes needs = needs_with(offload_activations(), job, target, change);
  EXPECT_NEAR(needs.as_mib(), Bytes::mib(200 + 600 + 100 + 200 + 20 + 300).as_mib(), 20);
  const Forecast forecast = forecast_with(offload_activations(), job, target, change);
  EXPECT_EQ(forecast.effect, Effect::kSame);
  ASSERT_EQ(forecast.consequences.size(), 1U);
  EXPECT_NE(forecast.consequences[0].find("1800 MiB"), std::string::npos) << forecast.consequences[0];
}

TEST(OffloadActivations, costs_the_way_to_the_host_and_back_however_the_batch_is_split) {
  const model::Job job = example_job();
  const Target target = example_target();
  const auto change = offload_activations().options(job, target).front();
  Forecast forecast = forecast_with(offload_activations(), job, target, change);
  const double moved = 2 * static_cast<double>(Bytes::mib(1800).count());
  EXPECT_DOUBLE_EQ(find_work(forecast).host_bytes, moved);
  micro_batch().predict(job, target, micro_batch().options(job, target).back(), forecast);
  EXPECT_DOUBLE_EQ(find_work(forecast).host_bytes, moved);
}

TEST(OffloadActivations, moves_the_inputs_only_of_checkpointed_blocks) {
  const model::Job job = example_job();
  const Target target = example_target();
  Forecast forecast = forecast_with(checkpoint(), job, target, checkpoint().options(job, target).back());
  const Bytes recomputed = forecast.recomputed;
  offload_activations().predict(job, target, offload_activations().options(job, target).front(), forecast);
  const Bytes moved = std::max(forecast.offloaded - recomputed, Bytes(0));
  EXPECT_DOUBLE_EQ(find_work(forecast).host_bytes, 2 * static_cast<double>(moved.count()));
}

TEST(OffloadActivations, is_not_advised_where_nothing_can_go) {
  model::Job job = example_job();
  Target target = example_target();
  job.precision.compiled = true;
  EXPECT_EQ(offload_activations().applies_to(job, target).standing, Standing::kNotPossible);
  job = example_job();
  job.levels = {example_level(2, 200, 20)};
  EXPECT_EQ(offload_activations().applies_to(job, target).reason,
            "of 2.54 GiB of activations at the peak, 0 B could wait in host memory");
  target.card.is_integrated = true;
  EXPECT_EQ(offload_activations().applies_to(example_job(), target).standing, Standing::kNotPossible);
}

}  // namespace
}  // namespace vramfit::plan
