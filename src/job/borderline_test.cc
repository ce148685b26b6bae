#include "job/borderline.h"

#include <gtest/gtest.h>

namespace vramfit::job {
namespace {

using base::Bytes;
using model::Verdict;

RunOutcome narrow_oom() {
  RunOutcome outcome;
  outcome.result.verdict = Verdict::kBorderline;
  outcome.result.exit_code = 1;
  outcome.result.oom.emplace();
  model::DeviceResult device;
  device.total = Bytes::mib(1000);
  device.context_uncertainty = Bytes::mib(50);
  outcome.result.devices = {device};
  return outcome;
}

RunRequest on_one_card() {
  RunRequest request;
  request.cards.resize(1);
  return request;
}

// A job that needs this much; counts its runs.
RunOnce job_of(Bytes needs, int& runs) {
  return [needs, &runs](const RunRequest& request) -> base::Result<RunOutcome> {
    ++runs;
    RunOutcome outcome;
    outcome.result.exit_code = request.cards.at(0).total.value() >= needs ? 0 : 1;
    return outcome;
  };
}

TEST(Borderline, a_job_that_runs_with_the_uncertainty_as_extra_room_stays_borderline) {
  RunOutcome outcome = narrow_oom();
  int runs = 0;
  settle_borderline(on_one_card(), outcome, job_of(Bytes::mib(1040), runs));
  EXPECT_EQ(outcome.result.verdict, Verdict::kBorderline);
  EXPECT_EQ(runs, 1);
}

TEST(Borderline, a_job_that_wants_far_more_later_is_out_of_memory) {
  RunOutcome outcome = narrow_oom();
  int runs = 0;
  settle_borderline(on_one_card(), outcome, job_of(Bytes::mib(5000), runs));
  EXPECT_EQ(outcome.result.verdict, Verdict::kOutOfMemory);
  EXPECT_EQ(outcome.result.reason, "");
}

TEST(Borderline, a_job_that_ran_is_not_run_again) {
  RunOutcome outcome = narrow_oom();
  outcome.result.oom.reset();
  int runs = 0;
  settle_borderline(on_one_card(), outcome, job_of(Bytes::mib(5000), runs));
  EXPECT_EQ(outcome.result.verdict, Verdict::kBorderline);
  EXPECT_EQ(runs, 0);
}

}  // namespace
}  // namespace vramfit::job
