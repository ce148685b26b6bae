#include "plan/search/front.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/techniques/registry.h"
#include "plan/testing/example_job.h"

namespace vramfit::plan {
namespace {

struct Space {
  model::Job job = example_job();
  Target target = example_target();
  std::vector<Axis> axes;
  std::vector<Candidate> candidates;

  Space() {
    std::vector<const Technique*> techniques;
    for (const Technique* technique : all_techniques()) techniques.push_back(technique);
    axes = build_axes(job, target, techniques);
    candidates = build_candidates(job, target, axes);
  }
};

TEST(Front, has_no_plan_that_another_beats_in_everything) {
  const Space space;
  const auto front = find_front(space.job, space.target, space.axes, space.candidates, {0, 1000});
  ASSERT_GT(front.size(), 3U);
  for (const Explained& plan : front) {
    for (const Candidate& other : space.candidates) {
      const bool is_beaten = tier_of(other.effect) <= tier_of(plan.effect) && other.time_factor <= plan.time_factor &&
                             other.needs < plan.outlook.needs;
      EXPECT_FALSE(is_beaten) << plan.plan.name;
    }
  }
}

TEST(Front, holds_the_plan_that_needs_least_of_all) {
  const Space space;
  const auto front = find_front(space.job, space.target, space.axes, space.candidates);
  const auto least = std::ranges::min(space.candidates, {}, &Candidate::needs).needs;
  const auto smallest = std::ranges::min_element(front, {}, [](const Explained& plan) { return plan.outlook.needs; });
  ASSERT_NE(smallest, front.end());
  EXPECT_LE(smallest->outlook.needs, scaled(least, 1.04)) << "one that saves less than 3 % is not told";
}

TEST(Front, goes_from_mild_to_strong_and_tells_only_a_few_of_each_tier) {
  const Space space;
  const FrontOptions options;
  const auto front = find_front(space.job, space.target, space.axes, space.candidates, options);
  EXPECT_TRUE(std::ranges::is_sorted(front, {}, [](const Explained& plan) { return tier_of(plan.effect); }));
  for (const Explained& plan : front) {
    const auto same = std::ranges::count_if(
        front, [&](const Explained& other) { return tier_of(other.effect) == tier_of(plan.effect); });
    EXPECT_LE(static_cast<std::size_t>(same), options.most_of_a_tier);
  }
}

TEST(Front, is_empty_where_nothing_saves_anything) {
  Space space;
  for (Candidate& candidate : space.candidates) {
    candidate.needs = Bytes::gib(100);
    candidate.time_factor = 2;
  }
  EXPECT_TRUE(find_front(space.job, space.target, space.axes, space.candidates).empty());
}

}  // namespace
}  // namespace vramfit::plan
