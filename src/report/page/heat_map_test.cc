#include "report/page/heat_map.h"

#include <gtest/gtest.h>

#include <regex>

#include "report/page/sweep_lines.h"
#include "report/testing/sweeps.h"

namespace vramfit::report::page {
namespace {

std::size_t count_of(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return static_cast<std::size_t>(std::distance(std::sregex_iterator(text.begin(), text.end(), regex), {}));
}

SweepFacts facts_of(model::SweepResult sweep) {
  SweepFacts facts{.result = std::move(sweep), .runs = {}};
  for (std::size_t i = 0; i < facts.result.trials.size(); ++i) {
    facts.runs.push_back({static_cast<std::int64_t>(i) + 11, ""});
  }
  return facts;
}

TEST(HeatMap, every_cell_tells_its_outcome_and_its_run) {
  const auto maps = draw_heat_maps(facts_of(testing::matrix()));
  ASSERT_EQ(maps.size(), 1u);
  const std::string& svg = maps[0].svg;
  EXPECT_EQ(count_of(svg, "<rect"), 9u);
  EXPECT_EQ(count_of(svg, "class=\"heat\""), 3u);
  EXPECT_EQ(count_of(svg, "class=\"heat unsure\""), 1u);
  EXPECT_EQ(count_of(svg, "class=\"unheated\""), 3u);
  EXPECT_EQ(count_of(svg, "class=\"unheated unknown\""), 2u);
  for (const char* text : {">6.00 GiB<", ">OOM<", ">! 7.91 GiB<", ">not run<", ">failed<", ">run 14<"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text << svg;
  }
  EXPECT_EQ(maps[0].spoken,
            "Map: batch downwards, --width to the right; 3 of 8 fit. The table below holds the numbers.");
}

TEST(HeatMap, more_memory_is_darker) {
  const std::string svg = draw_heat_maps(facts_of(testing::matrix()))[0].svg;
  std::vector<double> opacities;
  const std::regex filled("class=\"heat[^>]*fill-opacity=\"([0-9.]+)\"");
  for (auto found = std::sregex_iterator(svg.begin(), svg.end(), filled); found != std::sregex_iterator(); ++found) {
    opacities.push_back(std::stod((*found)[1]));
  }
  ASSERT_EQ(opacities.size(), 4u);  // 1, 2, 7.91 and 6 GiB
  EXPECT_LT(opacities[0], opacities[1]);
  EXPECT_LT(opacities[1], opacities[3]);
  EXPECT_LT(opacities[3], opacities[2]);
}

// Each piece lies on the edge of a cell.
TEST(HeatMap, the_border_is_drawn_between_cells) {
  const std::string svg = draw_heat_maps(facts_of(testing::matrix()))[0].svg;
  EXPECT_EQ(count_of(svg, "class=\"border\""), 3u);
  EXPECT_EQ(count_of(svg, "class=\"border unsure\""), 2u);
  std::smatch first;
  ASSERT_TRUE(
      std::regex_search(svg, first, std::regex("<rect class=\"heat\" x=\"(\\d+)\" y=\"(\\d+)\" width=\"(\\d+)\"")));
  const int left = std::stoi(first[1]) - 1, top = std::stoi(first[2]) - 1, width = std::stoi(first[3]) + 2;
  const std::regex piece("class=\"border[^>]*d=\"M(\\d+) (\\d+)[vh]");
  for (auto found = std::sregex_iterator(svg.begin(), svg.end(), piece); found != std::sregex_iterator(); ++found) {
    EXPECT_EQ((std::stoi((*found)[1]) - left) % width, 0);
    EXPECT_EQ((std::stoi((*found)[2]) - top) % 46, 0);
  }
}

TEST(HeatMap, the_legend_has_only_what_is_shown) {
  EXPECT_EQ(heat_map_legend(facts_of(testing::matrix())).size(), 6u);
  model::SweepResult small = testing::matrix();
  small.spec.variables = {{"batch", {"2"}}, {"--width", {"256", "512"}}};
  const auto legend = heat_map_legend(facts_of(small));
  ASSERT_EQ(legend.size(), 1u);
  EXPECT_EQ(legend[0].text, "fits: 1024 MiB to 2.00 GiB at the peak");
}

TEST(SweepLines, a_search_is_drawn_with_its_border) {
  const auto lines = draw_sweep_lines(facts_of(testing::search()));
  ASSERT_EQ(lines.size(), 2u);
  const std::string& svg = lines[0].svg;
  EXPECT_EQ(count_of(svg, "<circle class=\"fits\""), 3u);
  EXPECT_EQ(count_of(svg, "class=\"lost\""), 2u) << "what failed is in the table alone";
  EXPECT_NE(svg.find(">12 fits, 13 does not<"), std::string::npos) << svg;
  EXPECT_NE(svg.find("logarithmic"), std::string::npos);
  EXPECT_NE(svg.find("the card's memory: 8.00 GiB"), std::string::npos);
  EXPECT_EQ(count_of(lines[1].svg, "class=\"border"), 0u);
}

TEST(SweepLines, names_of_a_job_stay_text) {
  model::SweepResult sweep = testing::search();
  sweep.spec.goal->name = sweep.spec.variables[0].values[0] = sweep.largest[0].values[0] = "<b>\"x\"";
  for (model::Trial& trial : sweep.trials) trial.values[0] = "<b>\"x\"";
  for (const SweepPicture& picture : draw_sweep_lines(facts_of(sweep))) {
    EXPECT_EQ(picture.svg.find("<b>"), std::string::npos);
  }
}

}  // namespace
}  // namespace vramfit::report::page
