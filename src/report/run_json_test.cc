#include "report/run_json.h"

#include <gtest/gtest.h>

#include <fstream>

#include "report/testing/results.h"
#include "report/testing/schema_check.h"

namespace vramfit::report {
namespace {

using nlohmann::json;

json schema() {
  std::ifstream file(VRAMFIT_SOURCE_DIR "/docs/run.schema.json");
  return json::parse(file);
}

json plain(const model::RunResult& result) { return json::parse(run_to_json(result, "0.1.0")); }

TEST(RunJson, every_kind_of_result_keeps_the_schema) {
  using Violations = std::vector<std::string>;
  EXPECT_EQ(testing::find_violations(plain(testing::fitting_run()), schema()), Violations());
  EXPECT_EQ(testing::find_violations(plain(testing::dying_run()), schema()), Violations());
  EXPECT_EQ(testing::find_violations(plain(testing::failing_run()), schema()), Violations());
  EXPECT_EQ(testing::find_violations(plain(model::RunResult()), schema()), Violations());
}

TEST(RunJson, a_steps_time_has_its_range_and_is_null_where_nothing_trained) {
  model::RunResult result = testing::fitting_run();
  EXPECT_EQ(plain(result)["estimated_step_seconds"], nullptr);
  result.estimated_step = {0.2, 0.16, 0.26};
  EXPECT_EQ(plain(result)["estimated_step_seconds"],
            json({{"seconds", 0.2}, {"low", 0.16}, {"high", 0.26}, {"source", "model"}}));
  EXPECT_EQ(testing::find_violations(plain(result), schema()), std::vector<std::string>());
}

// The gate must fail what it is there for.
TEST(RunJson, the_schema_check_finds_what_is_wrong) {
  json wrong = plain(testing::fitting_run());
  wrong["verdict"] = "maybe";
  wrong.erase("oom");
  wrong["devices"][0]["total_bytes"] = "12 GiB";
  wrong["phases"][0]["surprise"] = 1;
  const auto violations = testing::find_violations(wrong, schema());
  EXPECT_EQ(violations.size(), 4u);
}

TEST(RunJson, sizes_are_exact_and_what_is_unknown_is_null) {
  const json dying = plain(testing::dying_run());
  EXPECT_EQ(dying["verdict"], "out_of_memory");
  EXPECT_EQ(dying["oom"]["tried_bytes"], 536870912);
  EXPECT_EQ(dying["oom"]["stack"][0]["line"], 84);
  EXPECT_EQ(dying["margin_bytes"], nullptr);
  EXPECT_FALSE(dying["devices"][0].contains("needs_bytes"));
  const json failing = plain(testing::failing_run());
  EXPECT_EQ(failing["torch"], nullptr);
  EXPECT_EQ(failing["error"]["type"], "ModuleNotFoundError");
}

TEST(RunJson, the_floor_is_two_numbers) {
  const json device = plain(testing::fitting_run())["devices"][0];
  EXPECT_EQ(device["needs_bytes"], 6100ll << 20);
  EXPECT_EQ(device["needs_without_retry_bytes"], 6480ll << 20);
}

}  // namespace
}  // namespace vramfit::report
