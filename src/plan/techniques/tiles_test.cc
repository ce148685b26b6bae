#include <gtest/gtest.h>

#include "plan/measured_shares.h"
#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(Tiles, leave_what_a_run_with_them_showed) {
  model::Job job = evaluating_job();
  add_measured(job, "tiles:4", Bytes::mib(650), Bytes::mib(100));
  const auto options = tiles().options(job, example_target());
  ASSERT_EQ(options.size(), 2U);
  EXPECT_EQ(tiles().describe(options[1]), "evaluation in 4 x 4 tiles");
  const Forecast forecast = forecast_with(tiles(), job, example_target(), options[1]);
  EXPECT_EQ(forecast.stage_peaks[1].holdings.activations, Bytes::mib(650));
  EXPECT_EQ(forecast.stage_peaks[1].holdings.weights, Bytes::mib(400));
  EXPECT_EQ(forecast.effect, Effect::kSame);
  EXPECT_EQ(forecast_with(tiles(), job, example_target(), options[0]).stage_peaks[1].holdings.activations,
            Bytes::mib(845));
  EXPECT_EQ(measured_key(tiles().find_all_measurable(job, example_target()).at(0)), "tiles:4");
  add_measured(job, "tiles:2", Bytes::mib(1900), Bytes::mib(100));
  EXPECT_EQ(forecast_with(tiles(), job, example_target(), options[0]).stage_peaks[1].holdings.activations,
            Bytes::mib(1900))
      << "two a side have a run of their own";
  EXPECT_EQ(forecast_with(tiles(), job, example_target(), options[1]).stage_peaks[1].holdings.activations,
            Bytes::mib(650));
}

TEST(Tiles, leave_smaller_batches_less_to_free) {
  model::Job job = evaluating_job();
  add_measured(job, "tiles:4", Bytes::mib(650), Bytes::mib(100));
  Forecast forecast = forecast_with(tiles(), job, example_target(), tiles().options(job, example_target())[1]);
  const Bytes before = add_up(job, forecast).needs;
  validation_batch().predict(job, example_target(), validation_batch().options(job, example_target())[1], forecast);
  const Bytes freed = before - add_up(job, forecast).needs;
  EXPECT_GT(freed.as_mib(), 200);
  EXPECT_LT(freed.as_mib(), 300) << "of 650 MiB, half are of one sample: a quarter of the batch leaves 406";
}

TEST(Tiles, need_large_images) {
  model::Job job = evaluating_job();
  job.loaders[0].shapes = {{4, 3, 64, 96}};
  EXPECT_EQ(tiles().applies_to(job, example_target()).reason,
            "images of the evaluation are 64 x 96: too small for tiles");
  job.loaders[0].shapes = {{4, 128}};
  EXPECT_EQ(tiles().applies_to(job, example_target()).reason, "a batch of the evaluation has 2 dimensions: no images");
  job.loaders.clear();
  EXPECT_EQ(tiles().applies_to(job, example_target()), applicable()) << "a run tells";
}

}  // namespace
}  // namespace vramfit::plan
