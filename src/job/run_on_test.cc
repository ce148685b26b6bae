#include "job/run_on.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "facts/recordings.h"

namespace vramfit::job {
namespace {

using base::Bytes;
using model::Verdict;

RunOutcome outcome(Verdict verdict, Bytes peak) {
  RunOutcome outcome;
  model::DeviceResult device;
  device.total = Bytes::gib(8);
  device.peaks = {peak, peak, peak};
  outcome.result.verdict = verdict;
  outcome.result.devices = {device};
  outcome.result.phases = {{"train", 0, {peak, peak, peak}, 9}};
  outcome.result.reach.batches = 120;
  outcome.result.reach.watched = true;
  if (verdict == Verdict::kOutOfMemory) outcome.result.oom.emplace();
  return outcome;
}

RunRequest request() {
  RunRequest request;
  request.span.seconds = 20;
  return request;
}

TEST(RunOn, a_span_is_seconds_or_a_count) {
  EXPECT_EQ(parse_span("20"), (Span{20, 0}));
  EXPECT_EQ(parse_span("0.5"), (Span{0.5, 0}));
  EXPECT_EQ(parse_span("120n"), (Span{0, 120}));
  EXPECT_EQ(parse_span("8-20"), (Span{.seconds = 20, .settled_seconds = 8}));
  EXPECT_TRUE(parse_span("0")->is_empty());
  for (const char* odd : {"", "n", "-1", "1e3", "0n", "20s", " 20", "nan", "-3n", "12.5n", "8-", "-", "20-8", "0-8",
                          "8-20n", "8-9-10", "8--20"}) {
    EXPECT_FALSE(parse_span(odd)) << odd;
  }
}

TEST(RunOn, a_budget_leaves_room_within_a_time_limit_and_is_for_shortened_virtual_runs) {
  RunRequest asked = request();
  EXPECT_EQ(to_variable(span_of(asked)), "20.000");
  asked.span.settled_seconds = 8;
  EXPECT_EQ(to_variable(span_of(asked)), "8.000-20.000");
  asked.timeout_seconds = 10;
  EXPECT_EQ(to_variable(span_of(asked)), "5.000");
  asked.span = {0, 120};
  EXPECT_EQ(to_variable(span_of(asked)), "120n");
  asked.steps = "all";
  EXPECT_EQ(to_variable(span_of(asked)), "");
  asked.steps = "auto";
  asked.real = true;
  EXPECT_EQ(to_variable(span_of(asked)), "");
}

TEST(RunOn, who_asks_for_the_least_room_runs_as_far_as_the_peak) {
  model::Reach reach;
  reach.batches = 900;
  reach.peak_at = 315;
  EXPECT_EQ(span_to_peak(request(), reach), (Span{0, 317}));
  EXPECT_TRUE(span_to_peak({}, reach).is_empty());
  reach.whole = true;
  EXPECT_EQ(span_to_peak(request(), reach), (Span{20, 0}));
}

TEST(RunOn, a_script_that_came_to_its_end_or_died_is_not_run_again) {
  RunOutcome whole = outcome(Verdict::kFits, Bytes::gib(3));
  EXPECT_TRUE(wants_short_run(request(), whole));
  EXPECT_FALSE(wants_short_run({}, whole));
  whole.result.reach.whole = true;
  EXPECT_FALSE(wants_short_run(request(), whole));
  EXPECT_FALSE(wants_short_run(request(), outcome(Verdict::kOutOfMemory, Bytes::gib(8))));
  EXPECT_FALSE(wants_short_run(request(), outcome(Verdict::kFailed, Bytes::gib(1))));
}

TEST(RunOn, the_worse_of_both_is_the_answer) {
  RunOutcome shorter = outcome(Verdict::kFits, Bytes::gib(5));
  shorter.result.phases.push_back({"validate", 0, {Bytes::gib(5), Bytes::gib(5), Bytes::gib(5)}, 3});
  const RunOutcome joined = join_runs(outcome(Verdict::kFits, Bytes::gib(3)), shorter);
  EXPECT_EQ(joined.result.devices[0].peaks.device, Bytes::gib(5));
  EXPECT_EQ(joined.result.phases.size(), 2u);
  EXPECT_EQ(joined.result.reach.batches, 120);
  const RunOutcome died =
      join_runs(outcome(Verdict::kFits, Bytes::gib(7)), outcome(Verdict::kOutOfMemory, Bytes::gib(6)));
  EXPECT_EQ(died.result.verdict, Verdict::kOutOfMemory);
  EXPECT_EQ(died.result.devices[0].peaks.device, Bytes::gib(7));
}

TEST(RunOn, what_the_short_run_says_of_growth_is_dropped_in_whatever_words) {
  RunOutcome shorter = outcome(Verdict::kFits, Bytes::gib(2));
  shorter.result.evidence.growth.emplace_back().phase = "train";
  shorter.result.warnings = {{"memory rises", 1, model::RemarkKind::kGrowth}, {"an old driver", 1}};
  const RunOutcome joined = join_runs(outcome(Verdict::kFits, Bytes::gib(3)), std::move(shorter));
  EXPECT_EQ(joined.result.warnings, (std::vector<model::Remark>{{"an old driver", 1}}));
  EXPECT_TRUE(joined.result.evidence.growth.empty());
}

TEST(RunOn, lines_that_the_second_run_executed_were_reached) {
  RunOutcome longer = outcome(Verdict::kFits, Bytes::gib(3));
  longer.result.reach.unreached = {
      {"train.py", 40, 40, "", "test(model)", "after it was ended", model::UsesCard::kYes},
      {"train.py", 90, 90, "", "export(model)", "after it was ended", model::UsesCard::kYes}};
  RunOutcome shorter = outcome(Verdict::kFits, Bytes::gib(2));
  std::vector<model::Recording> recordings(1);
  recordings[0].notes.coverage.emplace_back().executed["train.py"] = {{30, 50}};
  shorter.facts = facts::gather(std::move(recordings));
  const RunOutcome joined = join_runs(std::move(longer), std::move(shorter));
  ASSERT_EQ(joined.result.reach.unreached.size(), 1u);
  EXPECT_EQ(joined.result.reach.unreached[0].line, 90);
}

TEST(RunOn, the_second_run_is_short_and_quiet_and_one_that_fails_says_nothing) {
  RunRequest seen;
  const auto fails = [&](const RunRequest& next) -> base::Result<RunOutcome> {
    seen = next;
    return outcome(Verdict::kFailed, Bytes::gib(1));
  };
  const RunOutcome answer = complete(request(), outcome(Verdict::kFits, Bytes::gib(3)), fails);
  EXPECT_TRUE(seen.quiet_child);
  EXPECT_TRUE(seen.span.is_empty());
  EXPECT_EQ(answer.result.verdict, Verdict::kFits);
}

}  // namespace
}  // namespace vramfit::job
