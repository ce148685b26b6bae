#include <gtest/gtest.h>

#include <vector>

#include "plan/measured_shares.h"
#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(ChunkedLoss, frees_copies_of_the_logits_but_those_of_a_chunk_or_what_a_run_showed) {
  model::Job job = job_with_everything_applicable();
  const model::Change change = chunked_loss().options(job, example_target()).front();
  const Bytes before = sum(job.stage_peaks[0].holdings);
  EXPECT_NEAR(sum(forecast_with(chunked_loss(), job, example_target(), change).stage_peaks[0].holdings).as_mib(),
              before.as_mib() - (2 * 200 - 3 * 32), 0.01);
  job.measured["chunked_loss"] = job.stage_peaks;
  job.measured["chunked_loss"][0].holdings.activations -= Bytes::mib(100);
  EXPECT_NEAR(sum(forecast_with(chunked_loss(), job, example_target(), change).stage_peaks[0].holdings).as_mib(),
              before.as_mib() - 100, 0.01);
  job.wide_loss->features = 768;
  const auto options = chunked_loss().options(job, example_target());
  ASSERT_EQ(options.size(), 2u);
  EXPECT_EQ(model::find_integer(options[1], "linear"), 50304);
  const auto with_layer = forecast_with(chunked_loss(), job, example_target(), options[1]);
  EXPECT_NEAR(total_macs(with_layer.work) - total_macs(job.work), 8192.0 * 50304 * 768, 1e6);
  EXPECT_NEAR(sum(with_layer.stage_peaks[0].holdings).as_mib(), before.as_mib() - (3 * 200 - 3 * 128 - 18.75), 0.01)
      << "each chunk makes a gradient of the layer's weight too";
  EXPECT_EQ(chunked_loss().describe(options[1]), "last layer and loss in chunks");
  job.measured[measured_key(options[1])] = job.stage_peaks;
  EXPECT_EQ(forecast_with(chunked_loss(), job, example_target(), options[0]).measured_with, "chunked_loss");
  EXPECT_EQ(forecast_with(chunked_loss(), job, example_target(), options[1]).measured_with, "chunked_loss:linear")
      << "a run of its own";
  job.wide_loss->is_log = true;
  EXPECT_EQ(chunked_loss().options(job, example_target()), std::vector{options[1]});
  EXPECT_EQ(chunked_loss().find_all_measurable(job, example_target()), std::vector{options[1]});
  job.wide_loss->features = 0;
  EXPECT_EQ(chunked_loss().applies_to(job, example_target()).standing, Standing::kNotPossible);
  job.wide_loss->bytes = Bytes::mib(1);
  EXPECT_EQ(chunked_loss().applies_to(job, example_target()).standing, Standing::kNotPossible);
}

}  // namespace
}  // namespace vramfit::plan
