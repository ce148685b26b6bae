#include "ingest/plan_file.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace vramfit::ingest {
namespace {

// The example of docs/architecture.md.
constexpr std::string_view kExample = R"({"version": 1, "name": "micro-batch 2 x 4, bf16 autocast",
 "techniques": [
  {"id": "micro_batch", "micro_batch": 2, "accumulate": 4, "loaders": [0]},
  {"id": "autocast", "dtype": "bfloat16", "scaler": false},
  {"id": "checkpoint", "modules": ["backbone.stage1", "backbone.stage2"]},
  {"id": "optimizer", "name": "AdamW", "options": {"foreach": false}},
  {"id": "resize_input", "scale": 0.75},
  {"id": "no_grad_validation"},
  {"id": "allocator", "conf": "expandable_segments:True"},
  {"id": "empty_cache", "before": ["validate"]}]})";

TEST(PlanFile, the_documented_example_is_read_in_full) {
  const auto plan = parse_plan(kExample, "example");
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->name, "micro-batch 2 x 4, bf16 autocast");
  ASSERT_EQ(plan->changes.size(), 8U);
  EXPECT_EQ(model::find_integer(plan->changes[0], "micro_batch"), 2);
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(plan->changes[0].settings.at("loaders")), std::vector<std::int64_t>{0});
  EXPECT_EQ(model::find_names(plan->changes[2], "modules").size(), 2U);
  EXPECT_EQ(std::get<bool>(std::get<model::Options>(plan->changes[3].settings.at("options")).at("foreach")), false);
  EXPECT_EQ(model::find_number(plan->changes[4], "scale"), 0.75);
}

TEST(PlanFile, what_is_written_is_read_back_unchanged) {
  const auto plan = parse_plan(kExample, "example");
  ASSERT_TRUE(plan);
  const auto again = parse_plan(to_json(*plan).dump(), "again");
  ASSERT_TRUE(again);
  EXPECT_EQ(*plan, *again);
}

TEST(PlanFile, a_technique_nobody_knows_is_kept) {
  const auto plan = parse_plan(R"({"version": 1, "techniques": [{"id": "prune", "share": 0.5}]})", "p");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->changes[0].technique, "prune");
}

TEST(PlanFile, what_is_not_a_plan_is_refused_with_its_place) {
  for (const std::string_view text :
       {"", "[]", "{", "{}", R"({"version": 2, "techniques": []})", R"({"version": 1})",
        R"({"version": 1, "techniques": {}})", R"({"version": 1, "techniques": [1]})",
        R"({"version": 1, "techniques": [{"id": 5}]})", R"({"version": 1, "techniques": [{"id": "a", "x": null}]})",
        R"({"version": 1, "techniques": [{"id": "a", "x": [1, "b"]}]})",
        R"({"version": 1, "techniques": [{"id": "a", "x": {"y": [1]}}]})"}) {
    const auto plan = parse_plan(text, "broken.json");
    ASSERT_FALSE(plan) << text;
    EXPECT_EQ(plan.error().code, base::ErrorCode::kCorrupt) << text;
    EXPECT_NE(plan.error().where.find("broken.json"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace vramfit::ingest
