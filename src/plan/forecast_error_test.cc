#include "plan/forecast_error.h"

#include <gtest/gtest.h>

namespace vramfit::plan {
namespace {

TEST(ForecastError, a_plan_is_foretold_by_its_changes_and_their_runs) {
  EXPECT_EQ(played_by(1, {}), MadeBy::kPlayed);
  EXPECT_EQ(played_by(1, {.made = 1}), MadeBy::kOwnRun);
  EXPECT_EQ(played_by(2, {}), MadeBy::kCombined);
  EXPECT_EQ(played_by(3, {.made = 1}), MadeBy::kCombined);
  EXPECT_EQ(played_by(3, {.made = 2}), MadeBy::kCombinedRuns);
  EXPECT_EQ(played_by(2, {.made = 1, .missed_lives = 1}), MadeBy::kUnmeasuredLives);
  EXPECT_EQ(played_by(2, {.missed_lives = 1, .missed_sizes = 1}), MadeBy::kUnmeasuredSizes);
}

TEST(ForecastError, what_is_known_better_is_off_by_less) {
  EXPECT_GT(error_of(MadeBy::kOwnRun), 0);
  EXPECT_LT(error_of(MadeBy::kOwnRun), error_of(MadeBy::kCombinedRuns));
  EXPECT_LT(error_of(MadeBy::kCombinedRuns), error_of(MadeBy::kAddedUp));
}

TEST(ForecastError, the_lowest_end_is_below_by_the_error) {
  EXPECT_DOUBLE_EQ(lowest_of(1000, MadeBy::kPlayed), 1000 * (1 - error_of(MadeBy::kPlayed)));
}

TEST(ForecastError, each_has_a_name_of_its_own) {
  EXPECT_EQ(name(MadeBy::kAddedUp), "added_up");
  EXPECT_EQ(name(MadeBy::kCombinedRuns), "combined_runs");
}

}  // namespace
}  // namespace vramfit::plan
