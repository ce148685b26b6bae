#include "job/verdict.h"

#include <gtest/gtest.h>

namespace vramfit::job {
namespace {

using base::Bytes;
using model::Verdict;

ExitEvidence good_run() {
  ExitEvidence evidence;
  evidence.exit_zero = true;
  evidence.reached_card = true;
  evidence.margin = Bytes::mib(500);
  evidence.uncertainty = Bytes::mib(40);
  return evidence;
}

TEST(Verdict, a_run_with_room_to_spare_fits) { EXPECT_EQ(judge(good_run()).verdict, Verdict::kFits); }

TEST(Verdict, less_room_than_the_contexts_uncertainty_is_borderline_on_both_sides) {
  ExitEvidence tight = good_run();
  tight.margin = Bytes::mib(39);
  EXPECT_EQ(judge(tight).verdict, Verdict::kBorderline);
  EXPECT_NE(judge(tight).reason.find("39 MiB"), std::string::npos);
  EXPECT_NE(judge(tight).reason.find("what PyTorch would give back of its cache"), std::string::npos);

  ExitEvidence short_of = good_run();
  short_of.exit_zero = false;
  short_of.uncaught_oom = true;
  short_of.shortfall = Bytes::mib(12);
  EXPECT_EQ(judge(short_of).verdict, Verdict::kBorderline);
  short_of.shortfall = Bytes::mib(512);
  EXPECT_EQ(judge(short_of).verdict, Verdict::kOutOfMemory);
  short_of.shortfall.reset();
  EXPECT_EQ(judge(short_of).verdict, Verdict::kOutOfMemory);
}

TEST(Verdict, failures_say_why) {
  ExitEvidence evidence = good_run();
  evidence.exit_zero = false;
  EXPECT_EQ(judge(evidence).verdict, Verdict::kFailed);
  evidence.timed_out = true;
  EXPECT_NE(judge(evidence).reason.find("time limit"), std::string::npos);
  evidence = good_run();
  evidence.reached_card = false;
  EXPECT_EQ(judge(evidence).verdict, Verdict::kNoCard) << "which is no failure of the script's";
  EXPECT_NE(judge(evidence).reason.find("without ever using"), std::string::npos);
  evidence = good_run();
  evidence.plan_refused = true;
  evidence.exit_zero = false;  // the hooks end a job whose plan does not apply
  EXPECT_EQ(judge(evidence).verdict, Verdict::kFailed);
  EXPECT_NE(judge(evidence).reason.find("plan"), std::string::npos);
}

TEST(Verdict, what_fits_is_borderline_when_something_was_not_seen_with_which_it_might_not) {
  ExitEvidence evidence = good_run();
  evidence.loss = "the recording ends before the job did";
  EXPECT_EQ(judge(evidence).verdict, Verdict::kBorderline);
  EXPECT_EQ(judge(evidence).reason, "it fits as far as was seen, but the recording ends before the job did");
  evidence.exit_zero = false;
  EXPECT_EQ(judge(evidence).verdict, Verdict::kFailed);
}

TEST(Verdict, a_kill_without_a_word_may_be_for_want_of_host_memory) {
  ExitEvidence evidence = good_run();
  evidence.exit_zero = false;
  evidence.killed = true;
  EXPECT_EQ(judge(evidence).verdict, Verdict::kFailed);
  EXPECT_NE(judge(evidence).reason.find("host memory"), std::string::npos);
  evidence.timed_out = true;  // vramfit's own kill
  EXPECT_EQ(judge(evidence).reason, "the time limit passed");
}

}  // namespace
}  // namespace vramfit::job
