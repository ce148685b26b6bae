#include <gtest/gtest.h>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(ValidationBatch, shrinks_evaluation_alone) {
  const model::Job job = example_job();
  const auto options = validation_batch().options(job, example_target());
  ASSERT_EQ(options.size(), 2U);  // 2, 1
  const Forecast forecast = forecast_with(validation_batch(), job, example_target(), options[1]);
  EXPECT_EQ(forecast.stage_peaks[0], job.stage_peaks[0]);
  EXPECT_EQ(forecast.stage_peaks[3].holdings.activations, Bytes::mib(75));
}

}  // namespace
}  // namespace vramfit::plan
