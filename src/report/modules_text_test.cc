#include "report/modules_text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/layout.h"
#include "report/modules_json.h"
#include "report/run_json.h"
#include "report/testing/module_tables.h"
#include "report/testing/results.h"
#include "report/testing/schema_check.h"

namespace vramfit::report {
namespace {

TEST(ModulesText, it_fits_80_columns_and_folds_what_is_alike) {
  const std::string text = modules_to_text(testing::residual_network(12), 100);
  std::istringstream lines(text);
  std::string line;
  std::size_t of_blocks = 0;
  while (std::getline(lines, line)) {
    EXPECT_LE(columns(line), kPageWidth) << line;
    of_blocks += line.find("blocks.0  ") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(of_blocks, 1u);
  EXPECT_NE(text.find("x12"), std::string::npos);
  EXPECT_NE(text.find("What dropping a branch would free"), std::string::npos);
  EXPECT_NE(text.find("[!] something was not seen"), std::string::npos);
}

TEST(ModulesText, a_short_list_says_how_much_is_left_out) {
  EXPECT_NE(modules_to_text(testing::residual_network(2), 1).find("more: --verbose"), std::string::npos);
}

TEST(ModulesText, without_a_limit_every_block_is_shown) {
  const std::string text = modules_to_text(testing::residual_network(24), std::nullopt);
  for (int block = 0; block < 24; ++block) {
    EXPECT_NE(text.find("blocks." + std::to_string(block) + "  "), std::string::npos) << block;
  }
  EXPECT_EQ(text.substr(0, text.find("What dropping")).find("x2"), std::string::npos);
}

TEST(ModulesText, numbers_have_three_figures) {
  EXPECT_EQ(count_text(0), "-");
  EXPECT_EQ(count_text(7), "7");
  EXPECT_EQ(count_text(65.4e9), "65.4 G");
  EXPECT_EQ(count_text(999.6e9), "1.00 T");
  EXPECT_EQ(count_text(129e9), "129 G");
  EXPECT_EQ(seconds_text(0.0152), "15.2 ms");
  EXPECT_EQ(seconds_text(4.8e-5), "48 us");
}

TEST(ModulesJson, it_keeps_the_schema) {
  model::RunResult result = testing::fitting_run();
  result.modules = std::make_shared<const model::ModuleTable>(testing::residual_network(3));
  std::ifstream file(VRAMFIT_SOURCE_DIR "/docs/run.schema.json");
  const auto written = nlohmann::json::parse(run_to_json(result, "0.1.0"));
  EXPECT_EQ(testing::find_violations(written, nlohmann::json::parse(file)), std::vector<std::string>());
  EXPECT_EQ(written["modules"].size(), 5u + 2 * 3 + 1);
  EXPECT_EQ(written["module_branches"][0]["freed_bytes"], 36ll << 20);
}

}  // namespace
}  // namespace vramfit::report
