#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "plan/plan_check.h"
#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

// A job that it applies to, for the laws.
model::Job job_for(const Technique& technique, const Target& target) {
  for (const model::Job& job : {job_with_everything_applicable(), evaluating_job()}) {
    if (technique.applies_to(job, target).standing == Standing::kApplicable) return job;
  }
  return evaluating_job_without_loader();
}

TEST(Techniques, have_distinct_ids_and_are_found_by_them) {
  std::set<std::string_view> ids;
  for (const Technique* technique : all_techniques()) {
    EXPECT_TRUE(ids.insert(technique->id()).second) << technique->id();
    EXPECT_EQ(find_technique(technique->id()), technique);
  }
  EXPECT_EQ(find_technique("wishful_thinking"), nullptr);
}

TEST(Techniques, whatever_they_offer_is_a_plan_by_the_schema) {
  Target target = example_target();
  target.keep_effective_batch = false;
  for (const Technique* technique : all_techniques()) {
    for (const model::Change& change : technique->options(job_for(*technique, target), target)) {
      const auto checked = check_plan({"", {change}}, "plan.json");
      EXPECT_TRUE(checked) << technique->id() << ": " << checked.error().what;
    }
  }
}

// The law the search rests on, for every technique.
TEST(Techniques, options_grow_in_strength) {
  Target target = example_target();
  target.keep_effective_batch = false;
  for (const Technique* technique : all_techniques()) {
    const model::Job job = job_for(*technique, target);
    ASSERT_EQ(technique->applies_to(job, target).standing, Standing::kApplicable)
        << technique->id() << ": " << technique->applies_to(job, target).reason;
    Bytes before = add_up(job, start_forecast(job)).needs;
    for (const model::Change& change : technique->options(job, target)) {
      const Bytes needs = needs_with(*technique, job, target, change);
      EXPECT_LE(needs, before) << technique->id() << ": " << technique->describe(change);
      EXPECT_FALSE(technique->describe(change).empty());
      before = needs;
    }
  }
}

TEST(Techniques, the_order_in_which_they_are_predicted_does_not_matter) {
  const Target target = example_target();
  for (const Technique* first : all_techniques()) {
    for (const Technique* second : all_techniques()) {
      const model::Job job = job_for(*first, target);
      if (job_for(*second, target) != job) continue;
      if (first->slot() == second->slot() || first->id() == "effective_batch" || second->id() == "effective_batch")
        continue;
      const auto one = first->options(job, target).back();
      const auto two = second->options(job, target).back();
      Forecast forth = forecast_with(*first, job, target, one), back = forecast_with(*second, job, target, two);
      second->predict(job, target, two, forth);
      first->predict(job, target, one, back);
      EXPECT_NEAR(add_up(job, forth).needs.as_mib(), add_up(job, back).needs.as_mib(), 0.01)
          << first->id() << " and " << second->id();
    }
  }
}

}  // namespace
}  // namespace vramfit::plan
