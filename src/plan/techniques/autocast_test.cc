#include <gtest/gtest.h>

#include <string>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(Autocast, takes_bf16_where_the_card_has_it_and_fp16_with_a_scaler_below) {
  Target target = example_target();
  EXPECT_EQ(autocast().describe(autocast().options(example_job(), target)[0]), "bf16 autocast");
  target.card.capability = {7, 5};
  const auto change = autocast().options(example_job(), target)[0];
  EXPECT_EQ(find_text(change, "dtype"), "float16");
  EXPECT_EQ(std::get<bool>(change.settings.at("scaler")), true);
}

TEST(Autocast, never_halves_everything) {
  const model::Job job = example_job();
  const Target target = example_target();
  const Forecast forecast = forecast_with(autocast(), job, target, autocast().options(job, target)[0]);
  const model::Holdings& holdings = forecast.stage_peaks[0].holdings;
  EXPECT_EQ(holdings.weights, Bytes::mib(100 + 50)) << "half copies of the weights come on top";
  EXPECT_EQ(holdings.optimizer, Bytes::mib(200));
  EXPECT_EQ(holdings.activations, Bytes::mib(2600 * 65 / 100));
}

// The forwards of an evaluation too, with the graphs that its results keep.
TEST(Autocast, halves_what_evaluations_compute) {
  model::Job job = example_job();
  job.stage_peaks.back().holdings.gathered = Bytes::mib(1000);
  const Target target = example_target();
  const auto evaluation = [&] {
    const auto change = autocast().options(job, target)[0];
    return forecast_with(autocast(), job, target, change).stage_peaks.back().holdings;
  };
  EXPECT_EQ(evaluation().activations, Bytes::mib(300 * 65 / 100));
  EXPECT_EQ(evaluation().gathered, Bytes::mib(1000)) << "results are float32 again";
  job.gathered.emplace();
  job.gathered->keeps_graphs = true;
  EXPECT_EQ(evaluation().gathered, Bytes::mib(650));
}

TEST(Autocast, tells_a_card_without_tensor_cores_that_only_memory_is_saved) {
  Target target = example_target();
  target.card.capability = {6, 1};
  target.card.rates = {
      .fp64 = {}, .fp32 = 6.5, .tf32 = {}, .fp16 = 0.1, .fp16_tensor = {}, .bf16 = {}, .int8 = {}, .fp8 = {}};
  const Forecast forecast =
      forecast_with(autocast(), example_job(), target, autocast().options(example_job(), target)[0]);
  ASSERT_EQ(forecast.consequences.size(), 1U);
  EXPECT_NE(forecast.consequences[0].find("hardly any time"), std::string::npos);
}

TEST(Autocast, is_not_advised_where_it_is_in_force) {
  model::Job job = example_job();
  job.precision.autocast = "bfloat16";
  EXPECT_EQ(autocast().applies_to(job, example_target()).standing, Standing::kInForce);
  job = example_job();
  job.work.macs = {};
  job.work.macs[static_cast<std::size_t>(model::Number::kBf16)] = 1e12;
  EXPECT_EQ(autocast().applies_to(job, example_target()).standing, Standing::kInForce);
}

TEST(Autocast, and_its_scaler_are_for_jobs_that_train) {
  EXPECT_EQ(autocast().applies_to(evaluating_job(), example_target()).standing, Standing::kNotPossible);
  EXPECT_EQ(autocast().applies_to(example_job(), example_target()), applicable());
}

}  // namespace
}  // namespace vramfit::plan
