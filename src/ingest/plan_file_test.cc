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
  const auto again = parse_plan(plan_to_json(*plan), "again");
  ASSERT_TRUE(again);
  EXPECT_EQ(*plan, *again);
}

TEST(PlanFile, a_technique_nobody_knows_is_kept) {
  const auto plan = parse_plan(R"({"version": 1, "techniques": [{"id": "knows_nobody", "share": 0.5}]})", "p");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->changes[0].technique, "knows_nobody");
}

TEST(PlanFile, what_is_not_a_plan_is_refused_with_its_place) {
  for (const std::string_view text : {"",
                                      "[]",
                                      "{",
                                      "{}",
                                      R"({"version": 99, "techniques": []})",
                                      R"({"version": 1})",
                                      R"({"version": 1, "techniques": {}})",
                                      R"({"version": 1, "techniques": [1]})",
                                      R"({"version": 1, "techniques": [{"id": 5}]})",
                                      R"({"version": 1, "techniques": [{"id": "a", "x": null}]})",
                                      R"({"version": 1, "techniques": [{"id": "a", "x": [1, "b"]}]})",
                                      R"({"version": 1, "techniques": [{"id": "a", "x": {"y": [1]}}]})",
                                      R"({"techniques": []})",
                                      R"({"version": 0, "techniques": []})",
                                      R"({"version": -1, "techniques": []})",
                                      R"({"version": 1.0, "techniques": []})",
                                      R"({"version": "1", "techniques": []})",
                                      R"({"version": true, "techniques": []})",
                                      R"({"version": 18446744073709551615, "techniques": []})",
                                      R"({"version": 1, "version": 1, "techniques": []})",
                                      R"({"version": 1, "name": 5, "techniques": []})",
                                      R"({"version": 1, "technique": [], "techniques": []})",
                                      R"({"version": 1, "techniques": [{"id": "a", "id": "b"}]})",
                                      R"({"version": 1, "techniques": [{"id": "a", "x": NaN}]})",
                                      R"({"version": 1, "techniques": [{"id": "a", "x": 1e999}]})",
                                      R"({"version": 1, "techniques": [{"id": "a", "x": [18446744073709551615]}]})",
                                      "{\"version\": 1, \"techniques\": [{\"id\": \"a\xff\"}]}"}) {
    const auto plan = parse_plan(text, "broken.json");
    ASSERT_FALSE(plan) << text;
    EXPECT_EQ(plan.error().code, base::ErrorCode::kCorrupt) << text;
    EXPECT_NE(plan.error().where.find("broken.json"), std::string::npos) << text;
  }
}

TEST(PlanFile, a_truncated_plan_is_refused_at_every_length) {
  for (std::size_t length = 0; length < kExample.size(); ++length) {
    EXPECT_FALSE(parse_plan(kExample.substr(0, length), "cut.json")) << length;
  }
}

TEST(PlanFile, what_is_no_json_is_refused_at_its_line) {
  const auto plan = parse_plan("{\"version\": 1,\n  \"techniques\": [oops]}", "broken.json");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().where.substr(0, 14), "broken.json:2:") << plan.error().where;
}

TEST(PlanFile, an_unknown_key_is_refused_with_the_one_that_was_meant) {
  const auto plan = parse_plan(R"({"version": 1, "technique": []})", "p");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().what, "a plan has no \"technique\": did you mean \"techniques\"?");
}

TEST(PlanFile, a_version_that_is_to_come_is_refused_with_those_that_are_read) {
  const auto plan = parse_plan(R"({"version": 99, "techniques": []})", "p");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().what.find("this plan's version is 99; this vramfit reads 1 to 2"), 0U) << plan.error().what;
}

TEST(PlanFile, what_is_younger_than_the_plan_is_refused) {
  static constexpr model::SettingSchema kGrown[] = {
      {.name = "old", .form = model::SettingForm::kFlag, .meaning = "was there"},
      {.name = "young", .form = model::SettingForm::kFlag, .meaning = "came", .since = 2}};
  static constexpr model::TechniqueSchema kSchema[] = {{.id = "grown", .meaning = "", .settings = kGrown}};
  EXPECT_TRUE(parse_plan(R"({"version": 1, "techniques": [{"id": "grown", "old": true}]})", "p", kSchema));
  EXPECT_TRUE(parse_plan(R"({"version": 2, "techniques": [{"id": "grown", "young": true}]})", "p", kSchema));
  const auto early = parse_plan(R"({"version": 1, "techniques": [{"id": "grown", "young": true}]})", "p", kSchema);
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().what, "grown as it stands here came with version 2 of plans, and this one says 1");
  EXPECT_EQ(early.error().where, "p: techniques[0]");
  EXPECT_FALSE(parse_plan(R"({"version": 3, "techniques": [{"id": "grown", "old": true}]})", "p", kSchema));
}

TEST(PlanFile, nesting_of_any_depth_is_refused) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  for (const std::string& text : {deep, R"({"version": 1, "techniques": )" + deep + "}"}) {
    EXPECT_FALSE(parse_plan(text, "deep.json"));
  }
}

TEST(PlanFile, a_number_that_is_too_large_for_its_type_does_not_become_another) {
  const auto plan = parse_plan(R"({"version": 1, "techniques": [{"id": "a", "x": 18446744073709551615}]})", "p");
  ASSERT_TRUE(plan);
  EXPECT_EQ(model::find_integer(plan->changes[0], "x"), std::nullopt);
}

}  // namespace
}  // namespace vramfit::ingest
