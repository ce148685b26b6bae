#include "app/another_try.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace vramfit::app {
namespace {

using model::Verdict;

RunOutcome failure(bool after_cut, std::vector<model::DataDependence> reads = {}) {
  RunOutcome outcome;
  outcome.result.verdict = Verdict::kFailed;
  outcome.result.error = model::ScriptError{"ValueError", "16 samples expected, 3 seen", {}, after_cut, ""};
  outcome.result.depends_on_data = std::move(reads);
  return outcome;
}

const model::DataDependence kMask{"a size (boolean mask)", "train.py:12 in loss", 1};

TEST(Concede, a_failure_after_a_cut_evaluation_is_worth_whole_ones_once) {
  RunRequest request;
  RunOutcome outcome = failure(true);
  EXPECT_EQ(concede(request, outcome), (Concessions{.whole_evaluation = true}));
  request.concessions.whole_evaluation = true;
  EXPECT_FALSE(concede(request, outcome)) << "it has been that run";
  request.concessions = {};
  EXPECT_FALSE(concede(request, failure(false)));
  outcome.result.verdict = Verdict::kOutOfMemory;
  EXPECT_FALSE(concede(request, outcome));
  outcome.result.verdict = Verdict::kFailed;
  outcome.result.error.reset();
  EXPECT_FALSE(concede(request, outcome)) << "it failed without an error of the script";
}

TEST(Concede, masks_are_full_where_zeros_were_read_as_a_size_or_a_branch) {
  RunRequest request;
  EXPECT_EQ(concede(request, failure(false, {kMask})), (Concessions{.full_masks = true}));
  EXPECT_TRUE(concede(request, failure(false, {{"a branch (bool)", "train.py:12 in loss", 1}})));
  EXPECT_FALSE(concede(request, failure(false, {{"a whole number (item)", "train.py:12 in loss", 1}})));
  request.values = Values::kCpu;
  EXPECT_FALSE(concede(request, failure(false, {kMask}))) << "those sizes were right";
}

TEST(Concede, one_thing_at_a_time) {
  RunRequest request;
  EXPECT_EQ(concede(request, failure(true, {kMask})), (Concessions{.whole_evaluation = true}));
  request.concessions.whole_evaluation = true;
  EXPECT_EQ(concede(request, failure(true, {kMask})), (Concessions{true, true}));
}

TEST(RunConceding, keeps_what_helped_and_the_first_failure_when_nothing_did) {
  std::vector<std::string> said;
  const auto say = [&](std::string_view text) { said.emplace_back(text); };
  RunRequest request;
  const auto helped = run_conceding(
      request,
      [](const RunRequest& asked) -> base::Result<RunOutcome> {
        RunOutcome outcome = failure(false, {kMask});
        if (asked.concessions.full_masks) outcome.result.verdict = Verdict::kFits;
        return outcome;
      },
      say);
  EXPECT_EQ(helped->result.verdict, Verdict::kFits);
  EXPECT_TRUE(request.concessions.full_masks);
  EXPECT_EQ(said.size(), 1u);

  request = {};
  const auto failed = run_conceding(
      request,
      [](const RunRequest& asked) -> base::Result<RunOutcome> {
        RunOutcome outcome = failure(false, {kMask});
        if (asked.concessions.full_masks) outcome.result.error->message = "another";
        return outcome;
      },
      say);
  EXPECT_EQ(failed->result.error->message, "16 samples expected, 3 seen");
  EXPECT_FALSE(request.concessions.full_masks);
}

}  // namespace
}  // namespace vramfit::app
