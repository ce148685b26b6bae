#include "job/another_try.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace vramfit::job {
namespace {

using model::Verdict;

RunOutcome failure(bool after_cut, bool after_read = false) {
  RunOutcome outcome;
  outcome.result.verdict = Verdict::kFailed;
  outcome.result.error = model::ScriptError{"ValueError", "16 samples expected, 3 seen", {}, after_cut, ""};
  outcome.failed_after_read = after_read;
  return outcome;
}

TEST(Concede, a_failure_after_a_cut_evaluation_is_worth_whole_ones_once) {
  RunRequest request;
  RunOutcome outcome = failure(true);
  EXPECT_EQ(find_retry(request, outcome), (RetryOptions{.whole_evaluation = true}));
  request.retry.whole_evaluation = true;
  EXPECT_FALSE(find_retry(request, outcome)) << "it has been that run";
  request.retry = {};
  EXPECT_FALSE(find_retry(request, failure(false)));
  outcome.result.verdict = Verdict::kOutOfMemory;
  EXPECT_FALSE(find_retry(request, outcome));
  outcome.result.verdict = Verdict::kFailed;
  outcome.result.error.reset();
  EXPECT_FALSE(find_retry(request, outcome)) << "it failed without an error of the script";
}

TEST(Concede, values_are_tracked_when_the_script_asks_for_them_or_fails_after_reading_zeros) {
  RunRequest request;
  EXPECT_EQ(find_retry(request, failure(false, true)), (RetryOptions{.tracked_values = true}));
  EXPECT_FALSE(find_retry(request, failure(false)));
  RunOutcome asks;
  asks.result.verdict = Verdict::kFits;
  EXPECT_FALSE(find_retry(request, asks));
  asks.wants_values = OutputSeen{3, 0};
  EXPECT_EQ(find_retry(request, asks), (RetryOptions{.tracked_values = true}));
  request.retry.tracked_values = true;
  EXPECT_FALSE(find_retry(request, asks)) << "it has been that run";
  request = {};
  request.values = Values::kZeros;
  EXPECT_FALSE(find_retry(request, failure(false, true))) << "the user wants zeros";
  request.values = Values::kCpu;
  EXPECT_FALSE(find_retry(request, failure(false, true))) << "those values were right";
  EXPECT_FALSE(find_retry(request, asks));
}

TEST(Concede, a_job_on_a_real_card_is_started_once) {
  RunRequest request;
  request.real = true;
  EXPECT_FALSE(find_retry(request, failure(true)));
  EXPECT_FALSE(find_retry(request, failure(true, true)));
}

TEST(Concede, one_thing_at_a_time) {
  RunRequest request;
  EXPECT_EQ(find_retry(request, failure(true, true)), (RetryOptions{.whole_evaluation = true}));
  request.retry.whole_evaluation = true;
  EXPECT_EQ(find_retry(request, failure(true, true)), (RetryOptions{true, true}));
}

TEST(RunConceding, keeps_what_helped_and_the_first_failure_when_nothing_did) {
  std::vector<std::string> said;
  const auto say = [&](std::string_view text) { said.emplace_back(text); };
  RunRequest request;
  const auto helped = run_with_retries(
      request,
      [](const RunRequest& asked) -> base::Result<RunOutcome> {
        RunOutcome outcome = failure(false, true);
        if (asked.retry.tracked_values) outcome.result.verdict = Verdict::kFits;
        return outcome;
      },
      say);
  EXPECT_EQ(helped->result.verdict, Verdict::kFits);
  EXPECT_TRUE(request.retry.tracked_values);
  EXPECT_EQ(said.size(), 1u);

  request = {};
  const auto failed = run_with_retries(
      request,
      [](const RunRequest& asked) -> base::Result<RunOutcome> {
        RunOutcome outcome = failure(false, true);
        if (asked.retry.tracked_values) outcome.result.error->message = "another";
        return outcome;
      },
      say);
  EXPECT_EQ(failed->result.error->message, "16 samples expected, 3 seen");
  EXPECT_FALSE(request.retry.tracked_values);
}

TEST(RunConceding, a_script_that_asks_for_values_is_run_again_without_a_word_and_prints_on_from_there) {
  std::vector<std::string> said;
  std::vector<RetryOptions> told;
  RunRequest request;
  request.before_retry = [&](const RetryOptions& retry) { told.push_back(retry); };
  const auto ended = run_with_retries(
      request,
      [](const RunRequest& asked) -> base::Result<RunOutcome> {
        if (asked.retry.tracked_values) {
          EXPECT_EQ(asked.already_printed->stdout_bytes, 7);
          return failure(false, true);
        }
        RunOutcome outcome;
        outcome.wants_values = OutputSeen{7, 0};
        return outcome;
      },
      [&](std::string_view text) { said.emplace_back(text); });
  EXPECT_EQ(ended->result.verdict, Verdict::kFailed) << "the second run is the answer, whatever it is";
  EXPECT_TRUE(request.retry.tracked_values);
  EXPECT_TRUE(said.empty());
  EXPECT_EQ(told, std::vector{RetryOptions{.tracked_values = true}}) << "what is begun beside it is told in time";
}

}  // namespace
}  // namespace vramfit::job
