#include "ingest/stored_diagnosis.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/doctor_json.h"
#include "views/report.h"

namespace vramfit::views {
namespace {

using base::Bytes;

model::Diagnosis sample() {
  model::Finding finding{.code = "VF201",
                         .label = "leak_growth",
                         .title = "Memory grows from step to step",
                         .severity = model::Severity::kWarning,
                         .confidence = 0.875,
                         .evidence = {{"/data/secret/train.py", 12, "losses.append(loss)", "it holds the graph"},
                                      {"", 0, "", "4 MiB more each step"}},
                         .would_confirm = {"run twice as many steps"},
                         .fixes = {{"Keep the number alone", "losses.append(loss.item())", Bytes::mib(4), "none",
                                    model::Applicability::kAsIs},
                                   {"Drop the list", "", std::nullopt, "", model::Applicability::kFillIn}},
                         .withheld = {{"a smaller batch", "it would only run longer"}}};
  return {.trouble = true,
          .verdict = "It leaks.",
          .findings = {finding},
          .failed_at = model::FailedAt{"/data/secret/train.py", 21, "train_step", "losses = model(batch)"},
          .checks = {{"lifetime", model::CheckState::kFail, "one cause", {"VF201"}},
                     {"host", model::CheckState::kNotApplicable, "no host memory", {}}},
          .give = {"a snapshot"},
          .read = {"train.log, 20 lines"},
          .warnings = {"train.log is cut off"},
          .facts = {}};
}

std::string written(const model::Diagnosis& diagnosis) { return report::diagnosis_to_json(diagnosis, "1"); }

TEST(ReportDiagnosis, what_was_written_is_read) {
  const auto read = ingest::read_stored_diagnosis(written(sample()));
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(*read, sample());
}

TEST(ReportDiagnosis, what_is_no_diagnosis_is_refused) {
  std::string unread = written(sample());
  unread.replace(unread.find("\"fail\""), 6, "\"odd!\"");
  for (const std::string& text : {std::string(), std::string("{}"), std::string("[1]"), unread}) {
    EXPECT_FALSE(ingest::read_stored_diagnosis(text)) << text;
  }
}

model::StoredRun stored() {
  model::StoredRun run{.number = 3, .state = model::RunState::kEnded};
  run.start.verb = "doctor";
  run.end.verdict = "findings";
  run.end.findings = {{"VF201", "leak_growth", "Memory grows from step to step"}};
  run.end.result = written(sample());
  return run;
}

TEST(ReportDiagnosis, a_page_has_evidence_and_cures) {
  const std::string page = build_report({stored()}, {.version = "1", .home = "", .find_run = {}});
  for (const char* text : {"[!] It leaks.", "VF201: Memory grows", "88 % sure", "train.py:12", "losses.append(loss)",
                           "costs time: none; apply as it is", "a smaller batch: it would only", "not applicable",
                           "run twice as many steps", "train.log is cut off", "train.py:21", "losses = model(batch)"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
  EXPECT_EQ(page.find("not a run's result"), std::string::npos);
}

TEST(ReportDiagnosis, a_confidential_page_has_no_source_or_path) {
  const std::string page =
      build_report({stored()}, {.is_confidential = true, .version = "1", .home = "", .find_run = {}});
  for (const char* secret : {"secret", "losses", "train.log"})
    EXPECT_EQ(page.find(secret), std::string::npos) << secret;
  EXPECT_NE(page.find("VF201"), std::string::npos);
}

}  // namespace
}  // namespace vramfit::views
