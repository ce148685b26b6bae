#include "app/fit/prover.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "app/fit/plan_row.h"
#include "facts/recordings.h"

namespace vramfit::app {
namespace {

using base::Bytes;

job::RunOutcome fitting_run() {
  job::RunOutcome outcome;
  outcome.result.verdict = model::Verdict::kFits;
  outcome.result.phases = {{"train", 0, {}, 2}, {"validate", 0, {}, 2}};
  facts::RunFacts facts;
  facts.told.plan_applied.push_back({"autocast", ""});
  outcome.facts = std::make_shared<const facts::RunFacts>(std::move(facts));
  return outcome;
}

const model::Plan kAutocastPlan{"bf16", {{"autocast", {{"dtype", std::string("bfloat16")}}}}};

class BeginningRunner final : public job::Runner {
 public:
  job::RunRequest start(job::RunRequest request) override {
    request.begun = has_room ? ++last_begun : 0;
    return request;
  }
  base::Result<job::RunOutcome> run(const job::RunRequest& request, base::ProgressSink&) override {
    asked_for.push_back(request.begun);
    return fitting_run();
  }
  bool has_room = true;
  int last_begun = 0;
  std::vector<int> asked_for;
};

TEST(RunProver, waits_for_the_run_of_a_plan_that_was_begun_and_runs_others_itself) {
  const auto folder = std::filesystem::temp_directory_path() / ("vramfit_prover." + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  BeginningRunner runner;
  RunProver prover({}, {}, folder, runner);
  const model::Plan other{"fp16", {{"autocast", {{"dtype", std::string("float16")}}}}};
  prover.begin(other, 10);
  prover.begin(kAutocastPlan, 10);
  for (int times = 0; times < 2; ++times) {
    const auto proof = prover.prove(kAutocastPlan, 10);
    ASSERT_TRUE(proof);
    EXPECT_EQ(proof->outcome, plan::Outcome::kFits);
  }
  EXPECT_EQ(runner.asked_for, (std::vector{2, 0})) << "what was begun is waited for once";
  runner.has_room = false;
  prover.begin(kAutocastPlan, 10);
  ASSERT_TRUE(prover.prove(kAutocastPlan, 10));
  EXPECT_EQ(runner.asked_for.back(), 0);
  std::filesystem::remove_all(folder);
}

TEST(Judge, a_complete_run_is_a_proof) {
  EXPECT_EQ(judge(fitting_run(), kAutocastPlan, {{"train", 2}, {"validate", 2}}).outcome, plan::Outcome::kFits);
}

TEST(Judge, a_change_that_left_no_trace_is_none) {
  job::RunOutcome outcome = fitting_run();
  outcome.facts = facts::gather({});
  const auto proof = judge(outcome, kAutocastPlan, {});
  EXPECT_EQ(proof.outcome, plan::Outcome::kFailed);
  EXPECT_EQ(proof.detail, "autocast never came into force in this run");
}

TEST(Judge, a_run_that_missed_a_phase_or_took_no_step_is_none) {
  EXPECT_EQ(judge(fitting_run(), kAutocastPlan, {{"test", 1}}).detail, "the run ended before phase test");
  job::RunOutcome outcome = fitting_run();
  outcome.result.phases[0].steps = 0;
  EXPECT_EQ(judge(outcome, kAutocastPlan, {{"train", 2}}).detail, "no optimizer step was taken in this run");
  EXPECT_EQ(judge(outcome, kAutocastPlan, {{"train", 0}}).outcome, plan::Outcome::kFits) << "nor by the job itself";
}

TEST(Judge, a_borderline_run_that_ran_out_before_its_first_step_did_not_break) {
  job::RunOutcome outcome = fitting_run();
  outcome.result.verdict = model::Verdict::kBorderline;
  outcome.result.phases[0].steps = 0;
  outcome.result.oom = model::Oom{Bytes::mib(20), "CUDA out of memory", "train", false, {}};
  EXPECT_EQ(judge(outcome, kAutocastPlan, {{"train", 2}}).outcome, plan::Outcome::kBorderline);
}

// The plan whose cache PyTorch could give back has the more room, of two with one peak.
TEST(Judge, a_close_call_says_what_was_left_and_that_the_cache_counts) {
  job::RunOutcome outcome = fitting_run();
  outcome.result.verdict = model::Verdict::kBorderline;
  outcome.result.reason = "39 MiB are left with what PyTorch would give back of its cache, less than ...";
  const plan::Proof proof = judge(outcome, kAutocastPlan, {{"train", 2}});
  EXPECT_EQ(proof.outcome, plan::Outcome::kBorderline);
  EXPECT_EQ(why_unproven(proof), outcome.result.reason);
}

TEST(Judge, running_out_of_memory_is_told_with_what_was_asked_for) {
  job::RunOutcome outcome = fitting_run();
  outcome.result.verdict = model::Verdict::kOutOfMemory;
  outcome.result.oom =
      model::Oom{Bytes::mib(20),
                 "CUDA out of memory",
                 "validate",
                 false,
                 {{"/jobs/train.py", 90, "<module>", "main()"},
                  {"/jobs/train.py", 12, "main", "fake = generator(noise)"},
                  {"/lib/python3.11/site-packages/torch/nn/functional.py", 7, "pad", "return torch.pad()"}}};
  const auto proof = judge(outcome, kAutocastPlan, {{"train", 2}});
  EXPECT_EQ(proof.outcome, plan::Outcome::kOutOfMemory);
  EXPECT_EQ(why_unproven(proof), "ran out in validate at train.py:12, asking for 20 MiB more");
  EXPECT_EQ(proof.phase, "validate");
  EXPECT_EQ(proof.tried, Bytes::mib(20));
}

TEST(Judge, the_line_of_a_program_that_a_package_brings_is_the_packages) {
  job::RunOutcome outcome = fitting_run();
  outcome.result.verdict = model::Verdict::kOutOfMemory;
  outcome.result.oom =
      model::Oom{Bytes::mib(20),
                 "CUDA out of memory",
                 "train",
                 false,
                 {{"/env/bin/tune", 8, "<module>", "sys.exit(main())"},
                  {"/env/lib/python3.11/runpy.py", 198, "_run_code", "exec(code)"},
                  {"/env/lib/python3.11/site-packages/torchtune/modules/peft/lora.py", 74, "forward", ""},
                  {"/env/lib/python3.11/site-packages/torch/nn/functional.py", 7, "linear", ""}}};
  EXPECT_EQ(why_unproven(judge(outcome, kAutocastPlan, {{"train", 2}})),
            "ran out in train at lora.py:74, asking for 20 MiB more");
}

}  // namespace
}  // namespace vramfit::app
