#include <gtest/gtest.h>

#include "devices/time_model.h"
#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(Checkpoint, of_all_blocks_leaves_outputs_one_block_and_what_is_outside) {
  const model::Job job = example_job();
  const auto change = checkpoint().options(job, example_target()).back();
  // 2600 - 12 x 200 outside the blocks, 11 outputs of 20, one block of 200
  const Bytes needs = needs_with(checkpoint(), job, example_target(), change);
  const Bytes activations = Bytes::mib(200 + 11 * 20 + 200);
  EXPECT_NEAR(needs.as_mib(), (activations + Bytes::mib(100 + 200 + 20 + 300)).as_mib(), 20);
  EXPECT_EQ(forecast_with(checkpoint(), job, example_target(), change).effect, Effect::kSame);
}

TEST(Checkpoint, costs_about_one_more_forward_of_its_blocks) {
  const model::Job job = example_job();
  const Target target = example_target();
  const double plain = devices::estimate_step_seconds(target.card, job.work);
  const auto options = checkpoint().options(job, target);
  EXPECT_NEAR(seconds_with(checkpoint(), job, target, options.back()) / plain, 4.0 / 3, 0.02);
  EXPECT_LT(seconds_with(checkpoint(), job, target, options.front()) / plain, 1.1);
}

TEST(Checkpoint, offers_the_smallest_set_that_is_foretold_to_fit) {
  const model::Job job = example_job();
  Target target = example_target(2300);
  const auto options = checkpoint().options(job, target);
  const Bytes wanted = scaled(target.limit, 0.95);
  std::size_t fitting = 0;  // blocks of the mildest option that fits
  for (const auto& change : options) {
    if (needs_with(checkpoint(), job, target, change) > wanted) continue;
    fitting = find_names(change, "modules").size();
    break;
  }
  ASSERT_GT(fitting, 1U);
  auto fewer = find_names(options.back(), "modules");
  fewer.resize(fitting - 1);
  EXPECT_GT(needs_with(checkpoint(), job, target, {"checkpoint", {{"modules", fewer}}}), wanted);
}

TEST(Checkpoint, is_not_advised_where_it_is_in_force_or_worthless) {
  model::Job job = example_job();
  job.precision.checkpointing = true;
  EXPECT_EQ(checkpoint().applies_to(job, example_target()).standing, Standing::kInForce);
  job = example_job();
  job.levels = {example_level(4, 20, 20)};
  EXPECT_EQ(checkpoint().applies_to(job, example_target()).standing, Standing::kNotPossible);
}

TEST(Checkpoint, asks_a_step_in_host_memory_for_last_uses_where_the_script_does_not_evaluate) {
  model::Job job = example_job();
  EXPECT_EQ(checkpoint().find_witness(job, example_target()), nullptr) << "the evaluation shows them";
  std::erase_if(job.stage_peaks, [](const auto& moment) { return is_evaluation(moment); });
  EXPECT_EQ(checkpoint().find_witness(job, example_target()), &offload_activations());
  job.levels = {example_level(2, 200, 20)};
  ASSERT_EQ(offload_activations().applies_to(job, example_target()).standing, Standing::kNotPossible);
  EXPECT_EQ(checkpoint().find_witness(job, example_target()), &offload_activations()) << "it need not free anything";
  Target target = example_target();
  target.card.is_integrated = true;
  EXPECT_EQ(checkpoint().find_witness(job, target), nullptr) << "its memory is the host's";
}

}  // namespace
}  // namespace vramfit::plan
