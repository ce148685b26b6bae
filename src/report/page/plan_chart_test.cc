#include "report/page/plan_chart.h"

#include <gtest/gtest.h>

#include <limits>

namespace vramfit::report::page {
namespace {

using base::Bytes;

model::PlanRow plan_of(const std::string& name, Bytes peak, double factor) {
  model::PlanRow row;
  row.plan.name = name;
  row.predicted_peak = peak;
  row.time_factor = factor;
  return row;
}

TEST(PlanChart, a_plan_whose_peak_or_time_is_not_known_is_named_and_not_drawn_at_nothing) {
  ShownRun run;
  run.fit.emplace();
  run.fit->limit = Bytes::gib(8);
  run.fit->plans = {plan_of("known", Bytes::gib(4), 1.2)};
  run.fit->lost = {plan_of("no peak", Bytes(), 1.1),
                   plan_of("no time", Bytes::gib(6), std::numeric_limits<double>::infinity()),
                   plan_of("known too", Bytes::gib(9), 1)};
  run.front = {0};
  const std::string html = plan_chart(run);
  EXPECT_NE(html.find("Not in the picture, because peak or time is not known: 2, 3."), std::string::npos) << html;
  EXPECT_NE(html.find("1: known, 4.00 GiB"), std::string::npos);
  EXPECT_NE(html.find("4: known too, 9.00 GiB"), std::string::npos) << "numbers are those of the table";
  EXPECT_EQ(html.find("no peak"), std::string::npos);
  EXPECT_EQ(html.find("inf"), std::string::npos);
}

TEST(PlanChart, where_all_is_known_nothing_is_said_to_be_missing) {
  ShownRun run;
  run.fit.emplace();
  run.fit->plans = {plan_of("known", Bytes::gib(4), 1.2)};
  EXPECT_EQ(plan_chart(run).find("Not in the picture"), std::string::npos);
}

}  // namespace
}  // namespace vramfit::report::page
