#include "plan/search/candidate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plan/stream/testing/example_stream.h"
#include "plan/techniques/registry.h"
#include "plan/testing/example_job.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(Candidates, win_time_of_one_another_only_where_they_do_the_same_to_the_training) {
  Candidate fast, slow;
  fast.changes = slow.changes = 1;
  fast.time_factor = 1.1;
  slow.time_factor = 1.21;
  EXPECT_NEAR(gain_of(fast, slow), 0.1, 1e-9);
  slow.time_factor = 1.1;
  slow.changes = 2;
  EXPECT_NEAR(gain_of(fast, slow), 1.04 / 1.02 - 1, 1e-9);
  slow.effect = Effect::kRounding;
  EXPECT_EQ(gain_of(fast, slow), std::numeric_limits<double>::infinity());
  fast.effect = slow.effect = Effect::kStatistics;
  EXPECT_EQ(gain_of(fast, slow), std::numeric_limits<double>::infinity()) << "of how many samples is not known";
}

TEST(Candidates, are_sorted_from_cheap_to_dear_and_respect_slots) {
  model::Job job = example_job();
  Target target = example_target(2048);
  target.keep_effective_batch = false;
  const auto axes = build_axes(job, target, all_techniques());
  const auto candidates = build_candidates(job, target, axes);
  EXPECT_TRUE(std::ranges::is_sorted(candidates, Cheaper()));
  for (const Candidate& candidate : candidates) {
    int batch_changes = 0;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      batch_changes += candidate.levels[axis] > 0 && axes[axis].technique->slot() == "micro_batch" ? 1 : 0;
    }
    ASSERT_LE(batch_changes, 1);
  }
}

TEST(Candidates, what_frees_activations_in_training_is_tried_when_training_ran_out) {
  const model::Job job = example_job();
  const Target target = example_target(2048);
  const auto axes = build_axes(job, target, all_techniques());
  const std::vector<bool> touched = find_axes_of(job, target, axes, "train");
  for (const std::string_view id : {"micro_batch", "checkpoint", "offload_activations"}) {
    const auto axis = std::ranges::find(axes, id, [](const Axis& one) { return one.technique->id(); });
    ASSERT_NE(axis, axes.end()) << id;
    EXPECT_TRUE(touched[static_cast<std::size_t>(axis - axes.begin())]) << id;
  }
}

TEST(Candidates, of_networks_that_cost_no_time_the_one_nearest_to_the_scripts_own_is_first) {
  Candidate large, small;
  large.effect = small.effect = Effect::kNetwork;
  large.time_factor = 0.8;
  small.time_factor = 0.3;
  large.changes = small.changes = 1;
  EXPECT_TRUE(Cheaper()(large, small));
  EXPECT_FALSE(Cheaper()(small, large));
  EXPECT_TRUE(Cheaper(Goal::kMinTime)(small, large));
  large.effect = small.effect = Effect::kOptimizer;
  EXPECT_TRUE(Cheaper()(small, large)) << "what computes as much, faster";
}

TEST(Candidates, smaller_weights_change_what_a_load_holds) {
  model::Job job = example_job();
  job.optimizer.reset();
  job.stage_peaks = {example_peak("load", "other", 0, 0, 0), example_peak("test", "forward", 100, 0, 0)};
  const std::vector<Axis> axes = {{&int8_weights(), {{"int8_weights", {}}}}};
  EXPECT_EQ(find_axes_of(job, example_target(), axes, "load"), std::vector<bool>{true});
}

TEST(Candidates, a_space_too_large_is_thinned_but_keeps_its_strongest_options) {
  model::Job job = example_job();
  Target target = example_target(2048);
  job.loaders[0].batch_size = 720720;  // 240 divisors
  const auto axes = build_axes(job, target, all_techniques());
  EXPECT_LT(build_candidates(job, target, axes).size(), 60001U);
  EXPECT_EQ(model::find_integer(axes[0].options.back(), "micro_batch"), 1);
}

// Four batches of an evaluation that is written with functions and keeps all: 2000 MiB beside 100 of weights.
model::Job job_with_graphs() {
  model::Job job = evaluating_job();
  job.validates_with_gradients = true;
  model::AllocationStream stream;
  constexpr std::int64_t kMib = 1 << 20;
  stream.blocks.push_back({0, model::kStreamEnd, -1, 400 * kMib, 0, 0, model::BlockOwner::kWeights});
  for (model::StreamTime born = 1; born <= 20; ++born) {
    stream.blocks.push_back(
        {born, 40, -1, 100 * kMib, VF_PHASE_TEST, VF_STAGE_FORWARD, model::BlockOwner::kActivations});
  }
  stream.peak_reserved = Bytes::mib(2400);
  job.streams[""] = std::make_shared<model::AllocationStream>(std::move(stream));
  return job;
}

Outlook outlook_of(const model::Job& job, const Technique& technique, std::uint8_t level) {
  const Target target = example_target();
  const std::vector<Axis> axes = {{&technique, technique.options(job, target)}};
  Candidate candidate;
  candidate.levels = {level};
  const StreamPlayer player(job);
  EXPECT_TRUE(player.is_sound());
  return explain(job, target, axes, candidate, &player).outlook;
}

TEST(Candidates, what_no_grad_leaves_is_a_range_where_nothing_tells_what_the_script_keeps) {
  const model::Job job = job_with_graphs();
  const Outlook outlook = outlook_of(job, no_grad_validation(), 1);
  EXPECT_EQ(outlook.made_by, MadeBy::kUnmeasuredLives);
  ASSERT_TRUE(outlook.at_least && outlook.at_most);
  EXPECT_LT(outlook.at_least->uses, outlook.uses);
  EXPECT_EQ(outlook.at_most->uses, Bytes::mib(2400) + job.overhead) << "the job as it is";
  EXPECT_EQ(outlook.ceiling, outlook.at_most->uses);
}

TEST(Candidates, an_option_that_another_options_run_was_made_of_is_foretold_as_unmeasured) {
  model::Job job = job_with_graphs();
  add_measured(job, "half_evaluation", Bytes::mib(1300), Bytes::mib(400));
  job.streams["half_evaluation"] = job.streams[""];
  EXPECT_EQ(outlook_of(job, half_evaluation(), 1).made_by, MadeBy::kOwnRun);
  EXPECT_EQ(outlook_of(job, half_evaluation(), 2).made_by, MadeBy::kUnmeasuredSizes) << "with weights in half too";
}

TEST(Candidates, what_runs_again_is_foretold_as_unmeasured_until_something_shows_last_uses) {
  model::Job job = example_job();
  std::erase_if(job.stage_peaks, [](const auto& moment) { return is_evaluation(moment); });
  model::AllocationStream stream = example_stream();
  stream.peak_reserved = Bytes::mib(290);
  job.streams[""] = std::make_shared<model::AllocationStream>(stream);
  const std::vector<Axis> axes = {{&checkpoint(), {{"checkpoint", {{"modules", std::vector<std::string>{"a"}}}}}}};
  Candidate candidate;
  candidate.levels = {1};
  const auto made_by = [&] {
    const StreamPlayer player(job);
    EXPECT_TRUE(player.is_sound());
    return explain(job, example_target(), axes, candidate, &player).outlook.made_by;
  };
  EXPECT_EQ(made_by(), MadeBy::kUnmeasuredLives);
  job.streams["offload_activations"] = job.streams[""];
  EXPECT_EQ(made_by(), MadeBy::kPlayed);
}

}  // namespace
}  // namespace vramfit::plan
