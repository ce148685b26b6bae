#include "report/exports/sweep_svg.h"

#include <gtest/gtest.h>

#include "report/exports/svg.h"
#include "report/testing/sweeps.h"

namespace vramfit::report::exports {
namespace {

TEST(SweepSvg, a_sweeps_chart_is_its_map) {
  ExportFacts facts{.title = "run <12>"};
  facts.sweep = page::SweepFacts{.result = testing::matrix(), .runs = {}};
  const std::string svg = charts_to_svg({facts});
  EXPECT_NE(svg.find("run &lt;12&gt;: peak memory and the border"), std::string::npos);
  EXPECT_NE(svg.find("class=\"border\""), std::string::npos);
  EXPECT_EQ(svg.find("var("), std::string::npos) << "it stands alone";
  EXPECT_EQ(svg.find("href"), std::string::npos);
}

TEST(SweepSvg, every_class_it_uses_has_a_style) {
  std::string svg = sweep_to_svg({.result = testing::matrix(), .runs = {}}, "a") +
                    sweep_to_svg({.result = testing::search(), .runs = {}}, "b");
  const std::string style = svg.substr(0, svg.find("</style>"));
  for (std::size_t at = svg.find("class=\""); at != std::string::npos; at = svg.find("class=\"", at + 1)) {
    const std::size_t begin = at + 7;
    const std::string first = svg.substr(begin, svg.find_first_of(" \"", begin) - begin);
    EXPECT_NE(style.find("." + first), std::string::npos) << first;
  }
}

TEST(SweepSvg, without_trials_there_is_nothing_to_draw) {
  EXPECT_EQ(sweep_to_svg({.result = {}, .runs = {}}, "run 1"), "");
}

}  // namespace
}  // namespace vramfit::report::exports
