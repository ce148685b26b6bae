#include "report/page/run_section.h"

#include <gtest/gtest.h>

namespace vramfit::report::page {
namespace {

std::string color_of(const ShownRun& run) {
  const std::string html = run_section(run, 1);
  const std::string lead = "<p class=\"verdict ";
  const std::size_t at = html.find(lead);
  return at == std::string::npos ? ""
                                 : html.substr(at + lead.size(), html.find('"', at + lead.size()) - at - lead.size());
}

std::string color_of(model::Verdict verdict, bool caught = false) {
  ShownRun run;
  run.result = model::RunResult{.verdict = verdict};
  if (caught) run.result->oom.emplace().caught = true;
  return color_of(run);
}

TEST(RunSection, a_verdict_has_the_color_of_what_came_of_the_run) {
  EXPECT_EQ(color_of(model::Verdict::kFits), "good");
  EXPECT_EQ(color_of(model::Verdict::kFits, true), "unsure") << "it ran out, and the script caught that";
  EXPECT_EQ(color_of(model::Verdict::kBorderline), "unsure");
  EXPECT_EQ(color_of(model::Verdict::kOutOfMemory), "bad");
  EXPECT_EQ(color_of(model::Verdict::kNoCard), "bad");
  EXPECT_EQ(color_of(ShownRun()), "unsure") << "there is no result";
}

TEST(RunSection, a_fit_and_a_diagnosis_have_colors_of_their_own) {
  ShownRun run;
  run.result = model::RunResult{.verdict = model::Verdict::kOutOfMemory};
  run.fit.emplace().verdict = model::FitVerdict::kFitsAlready;
  EXPECT_EQ(color_of(run), "good");
  run.fit->verdict = model::FitVerdict::kOutOfTime;
  EXPECT_EQ(color_of(run), "unsure");
  run.fit.reset();
  run.diagnosis.emplace().trouble = true;
  EXPECT_EQ(color_of(run), "bad") << "of a cause that was not found";
}

TEST(RunSection, the_sentence_of_a_verdict_has_no_sign) {
  ShownRun run;
  run.diagnosis.emplace().verdict = "All is well.";
  EXPECT_EQ(verdict_sentence(run), "All is well.");
}

}  // namespace
}  // namespace vramfit::report::page
