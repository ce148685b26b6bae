#include "report/page/comparison_chart.h"

#include <gtest/gtest.h>

#include <regex>

namespace vramfit::report::page {
namespace {

using base::Bytes;

ShownRun run_of(std::int64_t number, std::vector<OwnerTotal> owners) {
  ShownRun run{.stored = {.number = number}};
  run.result.emplace();
  run.result->devices = {{.name = "a card", .index = 0, .total = Bytes::gib(8)}};
  run.owners = std::move(owners);
  return run;
}

OwnerTotal owner(const std::string& name, std::int64_t mib, int device = 0) {
  return {name, device, Bytes::mib(mib), 1};
}

std::vector<double> numbers_of(const std::string& svg, const std::string& pattern) {
  std::vector<double> numbers;
  const std::regex regex(pattern);
  for (auto found = std::sregex_iterator(svg.begin(), svg.end(), regex); found != std::sregex_iterator(); ++found) {
    numbers.push_back(std::stod((*found)[1]));
  }
  return numbers;
}

//   run 4 |activations      |weights|
//   run 5 |act.|weights|
TEST(ComparisonChart, parts_have_one_order_and_one_scale) {
  const std::string html = comparison_chart({run_of(4, {owner("activations", 4096), owner("weights", 1024)}),
                                             run_of(5, {owner("weights", 1024), owner("activations", 512)})});
  const auto widths = numbers_of(html, "class=\"edge\" x=\"[0-9.]+\" y=\"\\d+\" width=\"([0-9.]+)\" height=\"24\"");
  ASSERT_EQ(widths.size(), 8u) << "a slim picture and a wide one:\n" << html;
  for (const std::size_t first : {0, 4}) {
    EXPECT_NEAR(widths[first], 4 * widths[first + 1], 0.4);
    EXPECT_NEAR(widths[first + 2], widths[first + 1] / 2, 0.2) << "activations first in every bar";
    EXPECT_NEAR(widths[first + 3], widths[first + 1], 0.1);
  }
  EXPECT_NE(html.find(">1536 MiB<"), std::string::npos);
  EXPECT_NE(html.find("the card's memory"), std::string::npos);
}

TEST(ComparisonChart, what_a_run_does_not_have_is_told) {
  const std::string html = comparison_chart(
      {run_of(4, {owner("optimizer", 100), owner("inputs", 50, 1)}), run_of(5, {owner("weights", 100)})});
  const std::regex none("class=\"number\">none<");
  EXPECT_EQ(std::distance(std::sregex_iterator(html.begin(), html.end(), none), std::sregex_iterator()), 2) << html;
  EXPECT_EQ(html.find("inputs"), std::string::npos) << "of another card than the fullest";
}

TEST(ComparisonChart, what_stands_beside_a_bar_ends_within_both_pictures) {
  ShownRun full = run_of(5, {owner("activations", 2045)});
  full.result->devices[0].total = Bytes::mib(2048);
  full.result->oom.emplace();
  const std::string html = comparison_chart({run_of(4, {owner("weights", 451)}), full});
  const std::regex written("viewBox=\"0 0 (\\d+)|<text x=\"([0-9.]+)\" y=\"\\d+\">(2045[^<]*)<");
  double width = 0;
  int texts = 0;
  for (auto found = std::sregex_iterator(html.begin(), html.end(), written); found != std::sregex_iterator(); ++found) {
    if ((*found)[1].matched) width = std::stod((*found)[1]);
    if (!(*found)[3].matched) continue;
    ++texts;
    EXPECT_LE(std::stod((*found)[2]) + 7.2 * static_cast<double>((*found)[3].length()), width) << (*found)[3];
  }
  EXPECT_EQ(texts, 2);
}

TEST(ComparisonChart, one_run_is_not_compared) {
  EXPECT_EQ(comparison_chart({run_of(4, {owner("weights", 100)}), ShownRun{.stored = {.number = 5}}}), "");
}

}  // namespace
}  // namespace vramfit::report::page
