#include "report/site/index_page.h"

#include <gtest/gtest.h>

#include "report/site/sparkline.h"

namespace vramfit::report::site {
namespace {

using base::Bytes;
using model::PeakSeries;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string line_of(const std::string& svg) {
  const std::string begins = "class=\"spark-line\" d=\"";
  const std::size_t from = svg.find(begins) + begins.size();
  return svg.substr(from, svg.find('"', from) - from);
}

const PeakSeries kSeries{
    "<train>.py",
    {{1, Bytes::gib(2), false}, {2, std::nullopt, false}, {3, Bytes::gib(4), true}, {5, Bytes::gib(1), false}}};

//      x
//  .       o     run 2 told of no peak: a gap, not a fall to 0
TEST(Sparkline, a_run_that_told_no_peak_is_a_gap) {
  const std::string svg = sparkline(kSeries);
  EXPECT_EQ(count_of(line_of(svg), "M"), 2u) << line_of(svg);
  EXPECT_EQ(count_of(line_of(svg), "L"), 1u);
  EXPECT_EQ(line_of(svg).find("18.0"), std::string::npos) << "nothing lies at 0";
  EXPECT_EQ(count_of(svg, "spark-lost"), 1u);
  EXPECT_NE(svg.find("peaks of 4 runs of &lt;train&gt;.py, from 1024 MiB to 4.00 GiB, the last one 1024 MiB"),
            std::string::npos)
      << svg;
}

TEST(Sparkline, a_row_sees_the_runs_before_it_and_all_rows_have_one_scale) {
  EXPECT_EQ(sparkline(kSeries, 1), "") << "one peak is no course";
  EXPECT_EQ(sparkline(kSeries, 2), "");
  EXPECT_EQ(sparkline(kSeries, 4), "") << "no run of this series";
  const std::string third = sparkline(kSeries, 3);
  EXPECT_NE(third.find("peaks of 3 runs"), std::string::npos);
  EXPECT_NE(line_of(third).find(" 11.0"), std::string::npos) << "2 of at most 4 GiB are half: " << line_of(third);
}

TEST(Sparkline, of_many_runs_the_newest_are_drawn) {
  PeakSeries many{"train.py", {}};
  for (int i = 1; i <= 100; ++i) many.points.push_back({i, Bytes::mib(i), false});
  EXPECT_NE(sparkline(many).find("peaks of 20 runs of train.py, from 81 MiB to 100 MiB"), std::string::npos);
  EXPECT_NE(sparkline(many, 50).find("from 31 MiB to 50 MiB"), std::string::npos);
}

IndexFacts two_runs() {
  IndexFacts facts;
  for (const std::int64_t number : {2, 1}) {
    facts.runs.push_back({.number = number, .state = model::RunState::kEnded});
    facts.runs.back().end.devices = {{.name = "a card", .index = 0, .device = Bytes::gib(number)}};
  }
  facts.peaks = {{{"a.py", {{1, Bytes::gib(1), false}, {2, Bytes::gib(2), false}}}}, {0, 0}};
  return facts;
}

TEST(IndexPage, every_row_has_its_peaks_and_as_many_cells_as_there_are_heads) {
  const std::string html = index_page(two_runs());
  EXPECT_EQ(count_of(html, "<svg class=\"spark\""), 1u) << "run 1 has none before it";
  EXPECT_EQ(count_of(html, "<td"), 2 * (count_of(html, "<th scope=\"col\"") - 1));
}

TEST(IndexPage, a_group_has_a_head_with_its_peaks_and_a_way_to_compare_it) {
  IndexFacts facts = two_runs();
  facts.group_by = "tag";
  facts.groups = {{"<paper>", {0, 1}, facts.peaks.series[0]}, {"without a tag", {1}, {"without a tag", {}}}};
  const std::string html = index_page(facts);
  EXPECT_NE(html.find("&lt;paper&gt;"), std::string::npos);
  EXPECT_EQ(html.find("<paper>"), std::string::npos);
  EXPECT_EQ(count_of(html, "/compare?n=2&amp;n=1"), 1u) << "one run is nothing to compare";
  EXPECT_EQ(count_of(html, "<tr class=\"group-head\""), 2u);
  EXPECT_EQ(count_of(html, "<tr data-run=\"1\""), 2u);
  EXPECT_NE(html.find("<option value=\"tag\" selected>"), std::string::npos);
}

}  // namespace
}  // namespace vramfit::report::site
