#include "ingest/stored_sweep.h"

#include <gtest/gtest.h>

#include "report/sweep_json.h"
#include "report/testing/sweeps.h"
#include "views/report.h"
#include "views/sweep_facts.h"

namespace vramfit::views {
namespace {

using report::testing::matrix;
using report::testing::search;

void expect_same(const model::SweepResult& read, const model::SweepResult& written) {
  EXPECT_EQ(read.spec.variables, written.spec.variables);
  EXPECT_EQ(read.spec.goal, written.spec.goal);
  EXPECT_EQ(read.spec.command, written.spec.command);
  EXPECT_EQ(read.trials, written.trials);
  EXPECT_EQ(read.largest, written.largest);
  EXPECT_EQ(read.interrupted, written.interrupted);
}

TEST(ReportSweep, what_was_written_is_read) {
  model::SweepResult written = matrix();
  written.trials[0].run = "some-uuid";
  written.trials[1].state = model::TrialState::kLost;
  written.trials[1].result = {};
  const auto read = ingest::read_stored_sweep(report::sweep_to_json(written, "1"));
  ASSERT_TRUE(read) << to_string(read.error());
  expect_same(*read, written);
  written = search();
  written.interrupted = true;
  const auto searched = ingest::read_stored_sweep(report::sweep_to_json(written, "1"));
  ASSERT_TRUE(searched) << to_string(searched.error());
  expect_same(*searched, written);
}

TEST(ReportSweep, what_is_no_sweep_is_refused) {
  for (const char* text : {"", "[]", "{}", R"({"gpus":[],"command":[],"variables":[{"name":1}]})"}) {
    EXPECT_FALSE(ingest::read_stored_sweep(text)) << text;
  }
}

model::StoredRun stored(const model::SweepResult& sweep) {
  model::StoredRun run{.number = 9, .state = model::RunState::kEnded};
  run.start.verb = "sweep";
  run.end.verdict = "fits";
  run.end.result = report::sweep_to_json(sweep, "1");
  return run;
}

TEST(ReportSweep, trials_are_named_by_the_numbers_they_have_here) {
  model::SweepResult sweep = matrix();
  sweep.trials[0].run = "here";
  sweep.trials[1].run = "elsewhere";
  const history::FindRun find = [](std::string_view uuid) { return uuid == "here" ? 7 : 0; };
  const std::string served = build_report({stored(sweep)}, {.version = "1", .home = "/", .find_run = find});
  EXPECT_NE(served.find("<a href=\"/runs/7\">7</a>"), std::string::npos);
  model::StoredRun trial{.number = 7, .state = model::RunState::kEnded};
  const std::string page = build_report({stored(sweep), trial}, {.version = "1", .home = "", .find_run = find});
  EXPECT_NE(page.find("<a href=\"#run-7\">7</a>"), std::string::npos);
  EXPECT_NE(page.find("3 of 8 trials fit"), std::string::npos);
}

TEST(ReportSweep, a_confidential_map_keeps_its_shape_without_paths) {
  model::SweepResult sweep = matrix();
  sweep.spec.variables[1].values = {"/data/secret/a.json", "512", "/data/secret/b.json"};
  for (model::Trial& trial : sweep.trials) {
    if (trial.values[1] == "256") trial.values[1] = "/data/secret/a.json";
    if (trial.values[1] == "1024") trial.values[1] = "/data/secret/b.json";
  }
  const std::string page =
      build_report({stored(sweep)}, {.is_confidential = true, .version = "1", .home = "", .find_run = {}});
  EXPECT_EQ(page.find("secret"), std::string::npos);
  EXPECT_EQ(page.find("train.py"), std::string::npos);
  EXPECT_NE(page.find("[left out] 1"), std::string::npos);
  EXPECT_NE(page.find("[left out] 3"), std::string::npos);
  EXPECT_NE(page.find("3 of 8 trials fit"), std::string::npos);
}

}  // namespace
}  // namespace vramfit::views
