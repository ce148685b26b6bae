#include "plan/forecast_bounds.h"

#include <gtest/gtest.h>

#include "plan/techniques/registry.h"
#include "plan/testing/example_job.h"

namespace vramfit::plan {
namespace {

Bytes mib(std::int64_t count) { return Bytes::mib(count); }

// 300 of context, and at the optimizer's step 100 of weights, 200 of its state and 100 of gradients.
constexpr std::int64_t kLasts = 300 + 100 + 200 + 100;

Outlook within_bounds(std::int64_t foreseen, bool only_lets_go) {
  const model::Job job = example_job();
  Outlook outlook;
  outlook.needs = outlook.uses = mib(foreseen);
  keep_within_bounds(job, start_forecast(job), only_lets_go, mib(3300), outlook);
  return outlook;
}

TEST(ForecastBounds, no_plan_comes_below_what_lasts_from_step_to_step) {
  EXPECT_EQ(within_bounds(500, false).uses, mib(kLasts));
  EXPECT_EQ(within_bounds(2000, false).uses, mib(2000));
}

TEST(ForecastBounds, a_plan_that_leaves_the_state_on_the_host_is_not_held_to_it) {
  const model::Job job = example_job();
  Forecast forecast = start_forecast(job);
  for (model::StagePeak& moment : forecast.stage_peaks) moment.holdings.optimizer = Bytes();
  Outlook outlook;
  keep_within_bounds(job, forecast, false, mib(3300), outlook);
  EXPECT_EQ(outlook.floor, mib(kLasts - 200));
}

TEST(ForecastBounds, what_only_lets_go_needs_no_more_than_the_job_as_it_is) {
  EXPECT_EQ(within_bounds(70000, true).uses, mib(3300));
  EXPECT_EQ(within_bounds(70000, false).uses, mib(70000)) << "what makes blocks anew may need more";
}

TEST(ForecastBounds, an_interval_goes_as_far_as_what_nothing_tells_of) {
  Outlook outlook = within_bounds(1000, true);
  outlook.made_by = MadeBy::kUnmeasuredLives;
  const Interval usual = find_interval(outlook, mib(80000));
  EXPECT_EQ(usual.low, mib(900));
  EXPECT_EQ(usual.high, mib(1100));
  outlook.at_least = Need{mib(750), mib(800)};
  outlook.at_most = Need{mib(2500), mib(3000)};
  const Interval wide = find_interval(outlook, mib(80000));
  EXPECT_EQ(wide.low, mib(800));
  EXPECT_EQ(wide.high, mib(3000));
  EXPECT_EQ(find_interval(outlook, mib(2048)).high, mib(2500)) << "of a small card, what it can't do without";
}

TEST(ForecastBounds, an_interval_ends_where_no_run_can_be) {
  Outlook outlook = within_bounds(3200, true);
  outlook.made_by = MadeBy::kUnmeasuredLives;
  EXPECT_EQ(find_interval(outlook, mib(80000)).high, mib(3300));
  Outlook low = within_bounds(720, false);
  low.made_by = MadeBy::kUnmeasuredLives;
  EXPECT_EQ(find_interval(low, mib(80000)).low, mib(kLasts));
}

TEST(ForecastBounds, evaluations_under_no_grad_only_let_go) {
  EXPECT_TRUE(no_grad_validation().only_lets_go());
  EXPECT_FALSE(checkpoint().only_lets_go()) << "a second run has work spaces of its own";
  EXPECT_FALSE(micro_batch().only_lets_go()) << "gradients stay through the step";
}

}  // namespace
}  // namespace vramfit::plan
