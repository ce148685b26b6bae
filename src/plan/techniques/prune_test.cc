#include <gtest/gtest.h>

#include <string>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(Prune, offers_what_runs_with_fewer_channels_showed) {
  model::Job job = job_with_everything_applicable();
  const auto all = prune().find_all_measurable(job, example_target());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(prune().options(job, example_target()), all) << "no run told anything yet";
  EXPECT_EQ(prune().describe(all[0]), "25 % of channels pruned");
  EXPECT_EQ(model::find_number(all[0], "share"), 0.25);
  EXPECT_EQ(needs_with(prune(), job, example_target(), all[1]) < needs_with(prune(), job, example_target(), all[0]),
            true);
  job.measured["prune:0.25"] = job.stage_peaks;
  EXPECT_TRUE(prune().options(job, example_target()).empty()) << "it needed as much, and the other was not run";
  for (model::StagePeak& moment : job.measured["prune:0.25"]) {
    moment.holdings.activations = scaled(moment.holdings.activations, 0.5);
  }
  ASSERT_EQ(prune().options(job, example_target()).size(), 1U);
  const Forecast forecast = forecast_with(prune(), job, example_target(), all[0]);
  EXPECT_EQ(forecast.stage_peaks[0].holdings.activations, Bytes::mib(1300));
  EXPECT_EQ(forecast.measured_with, "prune:0.25");
  EXPECT_EQ(tier_of(forecast.effect), Tier::kAnother);
  EXPECT_EQ(prune().slot(), checkpoint().slot());
}

TEST(Prune, says_what_it_lacks) {
  model::Job job = job_with_everything_applicable();
  job.convolution_layers->has_torch_pruning = false;
  EXPECT_NE(prune().applies_to(job, example_target()).reason.find("pip install torch-pruning"), std::string::npos);
  job.convolution_layers->sample.clear();
  EXPECT_EQ(prune().applies_to(job, example_target()).reason, "the network is called otherwise than with one tensor");
  job.convolution_layers->layers = 1;
  EXPECT_EQ(prune().applies_to(job, example_target()).standing, Standing::kNotPossible);
  job.convolution_layers.reset();
  EXPECT_EQ(prune().applies_to(job, example_target()).standing, Standing::kNotPossible);
}

}  // namespace
}  // namespace vramfit::plan
