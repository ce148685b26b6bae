#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

// What a run with the smaller network showed of `job`: this share of all that training holds, and of its work.
void add_smaller(model::Job& job, const std::string& name, double share) {
  std::vector<model::StagePeak> moments = job.stage_peaks;
  for (model::StagePeak& moment : moments) {
    moment.holdings.weights = scaled(moment.holdings.weights, share);
    moment.holdings.activations = scaled(moment.holdings.activations, share);
  }
  job.measured["smaller_model:" + name] = std::move(moments);
  job.measured_work["smaller_model:" + name] = job.work;
  scale_work(job.measured_work["smaller_model:" + name], share);
}

TEST(SmallerModel, offers_what_runs_of_the_smaller_ones_showed) {
  model::Job job = job_with_everything_applicable();
  const auto all = smaller_model().find_all_measurable(job, example_target());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(smaller_model().options(job, example_target()), all) << "no run told anything yet";
  EXPECT_EQ(smaller_model().describe(all[1]), "resnet50 instead of resnet152");
  add_smaller(job, "resnet101", 0.8);
  add_smaller(job, "resnet50", 0.5);
  const Forecast forecast = forecast_with(smaller_model(), job, example_target(), all[1]);
  EXPECT_EQ(forecast.stage_peaks[0].holdings.activations, Bytes::mib(1300));
  EXPECT_EQ(forecast.stage_peaks[0].holdings.weights, Bytes::mib(50));
  EXPECT_NEAR(total_macs(forecast.work), 5e11, 1);
  EXPECT_EQ(forecast.measured_with, "smaller_model:resnet50");
  EXPECT_EQ(forecast.effect, Effect::kNetwork);
  EXPECT_EQ(tier_of(forecast.effect), Tier::kAnother);
}

TEST(SmallerModel, leaves_out_what_was_not_run_and_what_is_no_smaller) {
  model::Job job = job_with_everything_applicable();
  add_smaller(job, "resnet101", 1.1);
  EXPECT_TRUE(smaller_model().options(job, example_target()).empty());
  add_smaller(job, "resnet50", 0.5);
  ASSERT_EQ(smaller_model().options(job, example_target()).size(), 1U);
}

TEST(SmallerModel, is_for_networks_of_a_family_without_weights_of_their_own) {
  model::Job job = job_with_everything_applicable();
  EXPECT_EQ(smaller_model().slot(), checkpoint().slot()) << "modules are named as in the script's own";
  job.network->smaller.clear();
  EXPECT_EQ(smaller_model().applies_to(job, example_target()).reason,
            "resnet152 is the smallest of its family that is known");
  job.network = model::NetworkFacts{"transformers", "bert-large", {"bert-base"}, 0, true};
  EXPECT_EQ(smaller_model().applies_to(job, example_target()).standing, Standing::kNotPossible);
  job.network.reset();
  EXPECT_EQ(smaller_model().applies_to(job, example_target()).standing, Standing::kNotPossible);
}

}  // namespace
}  // namespace vramfit::plan
