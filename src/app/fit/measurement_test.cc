#include "app/fit/measurement.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "facts/recordings.h"
#include "facts/testing/recording_script.h"
#include "ingest/plan_file.h"
#include "ingest/testing/add_note.h"

namespace vramfit::app {
namespace {

using base::Bytes;

const model::Change kAutocast{"autocast", {{"dtype", std::string("bfloat16")}, {"scaler", false}}};

class OneRun final : public job::Runner {
 public:
  base::Result<job::RunOutcome> run(const job::RunRequest& request, base::ProgressSink&) override {
    asked = ingest::read_plan(request.plan.value()).value();
    facts::RecordingScript script;
    script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD, "net");
    script.alloc(40);
    job::RunOutcome outcome;
    auto recordings = script.take();
    ingest::testing::add_note(recordings[0], {{"kind", note}, {"id", "autocast"}, {"text", "x"}});
    outcome.facts = facts::gather(std::move(recordings));
    outcome.result.verdict = verdict;
    outcome.result.wall_seconds = 3;
    if (verdict == model::Verdict::kFailed)
      outcome.result.error = model::ScriptError{"TypeError", "no half", {}, false, ""};
    if (note == "plan_refused") outcome.result.plan_refused = {"autocast: x"};
    return outcome;
  }
  model::Verdict verdict = model::Verdict::kFits;
  std::string note = "plan_applied";
  model::Plan asked;
};

class MeasureChange : public ::testing::Test {
 protected:
  ~MeasureChange() override { std::filesystem::remove(file_); }
  base::Result<Measurement> measure() { return measure_change(runner, {}, kAutocast, file_, job); }
  OneRun runner;
  model::Job job;

 private:
  std::filesystem::path file_ =
      std::filesystem::temp_directory_path() / ("vramfit_measure." + std::to_string(::getpid()) + ".json");
};

TEST_F(MeasureChange, keeps_what_the_job_held_with_that_change_alone) {
  const auto measured = measure();
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->obstacle, "");
  EXPECT_EQ(measured->wall_seconds, 3);
  EXPECT_EQ(runner.asked.changes, std::vector<model::Change>{kAutocast});
  ASSERT_TRUE(job.measured.contains("autocast"));
  EXPECT_EQ(job.measured["autocast"].at(0).holdings.activations, Bytes::mib(40));
}

TEST_F(MeasureChange, a_script_that_refuses_or_breaks_tells_why_the_change_is_not_possible) {
  runner.note = "plan_refused";
  EXPECT_EQ(measure()->obstacle, "autocast: x");
  runner.note = "plan_applied";
  runner.verdict = model::Verdict::kFailed;
  EXPECT_EQ(measure()->obstacle, "the script broke with it: TypeError: no half");
  EXPECT_TRUE(job.measured.empty());
}

TEST_F(MeasureChange, a_run_without_a_word_on_memory_changes_nothing) {
  runner.verdict = model::Verdict::kOutOfMemory;
  EXPECT_EQ(measure()->obstacle, "");
  EXPECT_TRUE(job.measured.empty());
}

}  // namespace
}  // namespace vramfit::app
