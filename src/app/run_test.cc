#include "app/run.h"

#include <gtest/gtest.h>

namespace vramfit::app {
namespace {

TEST(LimitRun, leaves_a_request_without_a_limit_alone) {
  RunRequest request;
  EXPECT_FALSE(limit_run(request, 100).timeout_seconds);
  request.timeout_seconds = 7;
  EXPECT_EQ(limit_run(request, 100).timeout_seconds, 7);
}

TEST(LimitRun, gives_each_run_what_is_left_and_no_more_than_its_own) {
  RunRequest request;
  request.whole_seconds = 60;
  EXPECT_EQ(limit_run(request, 0).timeout_seconds, 60);
  EXPECT_EQ(limit_run(request, 45).timeout_seconds, 15);
  EXPECT_EQ(limit_run(request, 61).timeout_seconds, 0);
  request.timeout_seconds = 10;
  EXPECT_EQ(limit_run(request, 45).timeout_seconds, 10);
  EXPECT_EQ(limit_run(request, 55).timeout_seconds, 5);
}

TEST(FailsForCut, only_a_failure_after_a_cut_evaluation_is_worth_another_run) {
  RunRequest request;
  RunOutcome outcome;
  EXPECT_FALSE(fails_for_cut(request, outcome)) << "it failed without an error of the script";
  outcome.result.error = model::ScriptError{"ValueError", "16 samples expected, 3 seen", {}, true, ""};
  EXPECT_TRUE(fails_for_cut(request, outcome));
  request.whole_evaluation = true;
  EXPECT_FALSE(fails_for_cut(request, outcome)) << "it has been that run";
  request.whole_evaluation = false;
  outcome.result.verdict = model::Verdict::kOutOfMemory;
  EXPECT_FALSE(fails_for_cut(request, outcome));
  outcome.result.verdict = model::Verdict::kFailed;
  outcome.result.error->after_cut = false;
  EXPECT_FALSE(fails_for_cut(request, outcome));
}

}  // namespace
}  // namespace vramfit::app
