#include <gtest/gtest.h>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(HostTransforms, holds_what_its_run_showed) {
  model::Job job = job_with_everything_applicable();
  ASSERT_EQ(host_transforms().applies_to(job, example_target()), applicable());
  const auto change = host_transforms().options(job, example_target()).front();
  EXPECT_EQ(forecast_with(host_transforms(), job, example_target(), change).stage_peaks, job.stage_peaks)
      << "was not run";
  job.measured["host_transforms"] = job.stage_peaks;
  job.measured["host_transforms"][0].holdings.activations = Bytes::mib(26);
  const Forecast forecast = forecast_with(host_transforms(), job, example_target(), change);
  EXPECT_EQ(forecast.stage_peaks[0].holdings.activations, Bytes::mib(26));
  job.measured_work["host_transforms"] = job.work;
  scale_work(job.measured_work["host_transforms"], 0.1);
  EXPECT_EQ(total_macs(forecast_with(host_transforms(), job, example_target(), change).work), total_macs(job.work))
      << "it is done elsewhere, in a time that is not known";
  EXPECT_EQ(forecast.effect, Effect::kRounding);
  EXPECT_EQ(forecast.measured_with, "host_transforms");
  job.card_transforms.clear();
  EXPECT_EQ(host_transforms().applies_to(job, example_target()).standing, Standing::kNotPossible);
}

}  // namespace
}  // namespace vramfit::plan
