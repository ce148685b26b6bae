#include "report/plan_schema_text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace vramfit::report {
namespace {

constexpr const char* kSchemaFile = VRAMFIT_SOURCE_DIR "/docs/plan.schema.json";
constexpr const char* kPage = VRAMFIT_SOURCE_DIR "/docs/plans.md";
constexpr std::string_view kBegin = "<!-- made: the table of techniques -->\n", kEnd = "<!-- end -->\n";

bool is_to_write() { return std::getenv("VRAMFIT_WRITE_SCHEMA") != nullptr; }

std::string text_of(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(PlanSchemaText, the_published_schema_is_that_of_the_check) {
  const std::string made = plan_schema_to_json(model::plan_schema());
  if (is_to_write()) std::ofstream(kSchemaFile) << made;
  EXPECT_EQ(text_of(kSchemaFile), made) << "VRAMFIT_WRITE_SCHEMA=1 has this test write it";
}

TEST(PlanSchemaText, the_documented_table_is_that_of_the_check) {
  std::string page = text_of(kPage);
  const std::size_t begin = page.find(kBegin), end = page.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::size_t from = begin + kBegin.size();
  const std::string made = plan_schema_to_table(model::plan_schema());
  if (is_to_write()) std::ofstream(kPage) << page.substr(0, from) << made << page.substr(end);
  page = text_of(kPage);
  EXPECT_EQ(page.substr(from, page.find(kEnd) - from), made) << "VRAMFIT_WRITE_SCHEMA=1 has this test write it";
}

TEST(PlanSchemaText, what_is_needed_and_the_ranges_are_in_the_schema) {
  const auto schema = nlohmann::json::parse(plan_schema_to_json(model::plan_schema()));
  EXPECT_EQ(schema["additionalProperties"], false);
  for (const auto& technique : schema["properties"]["techniques"]["items"]["oneOf"]) {
    EXPECT_EQ(technique["additionalProperties"], false);
    if (technique["properties"]["id"]["const"] != "tiles") continue;
    EXPECT_EQ(technique["required"], nlohmann::json({"id", "per_side"}));
    EXPECT_EQ(technique["properties"]["per_side"]["minimum"], 2);
    return;
  }
  FAIL() << "no tiles";
}

}  // namespace
}  // namespace vramfit::report
