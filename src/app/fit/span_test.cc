#include "app/fit/span.h"

#include <gtest/gtest.h>

#include <utility>

#include "facts/recordings.h"

namespace vramfit::app {
namespace {

using base::Bytes;
using model::Verdict;

job::RunOutcome ran(Bytes peak, std::int64_t batches, std::int64_t peak_at) {
  job::RunOutcome outcome;
  model::DeviceResult device;
  device.total = Bytes::gib(512);
  device.peaks = {peak, peak, peak};
  outcome.result.verdict = Verdict::kFits;
  outcome.result.devices = {device};
  outcome.result.reach.batches = batches;
  outcome.result.reach.peak_at = peak_at;
  outcome.result.wall_seconds = batches > 0 ? 21 : 3;
  return outcome;
}

TEST(FitSpan, without_a_budget_or_for_a_script_that_ended_nothing_is_run_on) {
  EXPECT_FALSE(FitSpan(job::Span{}).is_worth_it(ran(Bytes::gib(3), 0, 0)));
  job::RunOutcome whole = ran(Bytes::gib(3), 0, 0);
  EXPECT_TRUE(FitSpan(job::Span{20, 0}).is_worth_it(whole));
  whole.result.reach.whole = true;
  EXPECT_FALSE(FitSpan(job::Span{20, 0}).is_worth_it(whole));
}

TEST(FitSpan, candidates_run_short_when_the_peak_is_seen_early_and_the_answer_over_the_same_batches) {
  FitSpan span(job::Span{20, 0});
  const job::RunOutcome joined = span.join(ran(Bytes::gib(3), 0, 0), ran(Bytes::gib(3), 400, 5));
  EXPECT_TRUE(span.of_trials().is_empty());
  EXPECT_EQ(span.of_answer(), (job::Span{0, 400}));
  EXPECT_DOUBLE_EQ(joined.result.wall_seconds, 3) << "what a candidate takes";
}

TEST(FitSpan, what_only_the_short_run_came_to_is_kept_among_the_jobs_facts) {
  FitSpan span(job::Span{20, 0});
  job::RunOutcome shorter = ran(Bytes::gib(3), 0, 0);
  shorter.facts = facts::gather(std::vector<model::Recording>(2));
  shorter.result.phases = {{"validate", 0, {}, 3}};
  const job::RunOutcome joined = span.join(shorter, ran(Bytes::gib(3), 400, 5));
  EXPECT_EQ(joined.facts->processes.size(), 2u);
  ASSERT_EQ(joined.result.phases.size(), 1u);
  EXPECT_EQ(joined.result.phases[0].name, "validate");
  EXPECT_EQ(joined.result.reach.batches, 400);
}

TEST(FitSpan, candidates_run_up_to_a_peak_that_comes_late) {
  FitSpan span(job::Span{20, 0});
  const job::RunOutcome joined = span.join(ran(Bytes::gib(3), 0, 0), ran(Bytes::gib(5), 400, 315));
  EXPECT_EQ(span.of_trials(), (job::Span{0, 317}));
  EXPECT_EQ(joined.result.devices[0].peaks.device, Bytes::gib(5));
  EXPECT_DOUBLE_EQ(joined.result.wall_seconds, 21);
}

TEST(FitSpan, a_long_run_that_ran_out_is_the_answer_and_one_that_failed_is_none) {
  FitSpan span(job::Span{20, 0});
  job::RunOutcome died = ran(Bytes::gib(5), 300, 300);
  died.result.verdict = Verdict::kOutOfMemory;
  died.result.oom.emplace();
  EXPECT_EQ(span.join(ran(Bytes::gib(3), 0, 0), died).result.verdict, Verdict::kOutOfMemory);
  job::RunOutcome failed = ran(Bytes::gib(5), 300, 300);
  failed.result.verdict = Verdict::kFailed;
  EXPECT_EQ(span.join(ran(Bytes::gib(3), 0, 0), failed).result.devices[0].peaks.device, Bytes::gib(3));
}

TEST(FitSpan, one_run_in_full_takes_no_more_than_its_share_of_the_time_left) {
  const FitSpan span(job::Span{20, 0});
  const job::RunRequest request = span.in_full({}, 40);
  EXPECT_DOUBLE_EQ(request.span.seconds, 10);
  EXPECT_EQ(request.steps, "auto");
  EXPECT_TRUE(request.span_alone);
}

}  // namespace
}  // namespace vramfit::app
