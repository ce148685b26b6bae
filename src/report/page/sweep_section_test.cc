#include "report/page/sweep_section.h"

#include <gtest/gtest.h>

#include "report/testing/sweeps.h"

namespace vramfit::report::page {
namespace {

TEST(SweepSection, every_trial_is_a_row_with_its_verdict_peak_and_run) {
  SweepFacts facts{.result = testing::matrix(), .runs = {{12, "#run-12"}, {13, ""}}};
  facts.result.trials[4].result.reason =
      "CUDA out of memory. Tried to allocate 16.00 GiB. See the documentation. Or not.";
  const std::string html = sweep_section(facts, 20, 3);
  EXPECT_NE(html.find("<figcaption>Peak memory and the border (run 20)</figcaption>"), std::string::npos);
  EXPECT_NE(html.find("<a href=\"#run-12\">12</a>"), std::string::npos);
  EXPECT_NE(html.find("over 6.84 GiB"), std::string::npos) << "it would have wanted more";
  EXPECT_NE(html.find("no such file"), std::string::npos);
  EXPECT_NE(html.find(">CUDA out of memory. Tried to allocate 16.00 GiB.<"), std::string::npos);
  std::size_t rows = 0;
  for (std::size_t at = html.find("<tr"); at != std::string::npos; at = html.find("<tr", at + 1)) ++rows;
  EXPECT_EQ(rows, 9u);
}

TEST(SweepSection, a_search_tells_its_answers_first) {
  const std::string html = sweep_section({.result = testing::search(), .runs = {}}, 20, 3);
  EXPECT_LT(html.find("amp=off: batch 12 fits, 13 does not; both were run"), html.find("<figure>"));
  EXPECT_NE(html.find("not even batch 1 fits"), std::string::npos);
  EXPECT_EQ(html.find("class=\"maps\""), std::string::npos);
}

TEST(SweepSection, a_sweep_that_was_interrupted_at_once_is_told) {
  model::SweepResult sweep = testing::matrix();
  sweep.trials.clear();
  const std::string html = sweep_section({.result = sweep, .runs = {}}, 20, 3);
  EXPECT_NE(html.find("No trial was run."), std::string::npos);
  EXPECT_NE(html.find(">not run<"), std::string::npos);
}

}  // namespace
}  // namespace vramfit::report::page
