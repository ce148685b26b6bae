#include "model/plan_schema.h"

#include <gtest/gtest.h>

#include <set>

namespace vramfit::model {
namespace {

// A schema in which a technique grew a setting, and another came, with version 2 and 3.
constexpr SettingSchema kGrown[] = {{.name = "old", .form = SettingForm::kFlag, .meaning = "was there"},
                                    {.name = "young", .form = SettingForm::kFlag, .meaning = "came", .since = 2}};
constexpr TechniqueSchema kLater[] = {{.id = "grown", .meaning = "", .settings = kGrown},
                                      {.id = "new", .meaning = "", .since = 3}};

TEST(PlanSchema, the_newest_version_is_that_of_its_youngest_part) {
  EXPECT_EQ(newest_plan_version(kLater), 3);
  EXPECT_EQ(newest_plan_version({kLater, 1}), 2);
}

TEST(PlanSchema, a_plan_needs_the_version_of_what_is_in_it) {
  EXPECT_EQ(needed_plan_version({"", {{"grown", {{"old", true}}}}}, kLater), 1);
  EXPECT_EQ(needed_plan_version({"", {{"grown", {{"young", true}}}}}, kLater), 2);
  EXPECT_EQ(needed_plan_version({"", {{"grown", {}}, {"new", {}}}}, kLater), 3);
}

TEST(PlanSchema, every_part_has_a_name_of_its_own_and_says_what_it_is_for) {
  std::set<std::string_view> ids;
  for (const TechniqueSchema& technique : plan_schema()) {
    EXPECT_TRUE(ids.insert(technique.id).second) << technique.id;
    EXPECT_FALSE(technique.meaning.empty()) << technique.id;
    std::set<std::string_view> names = {"id"};
    for (const SettingSchema& setting : technique.settings) {
      EXPECT_TRUE(names.insert(setting.name).second) << technique.id << " " << setting.name;
      EXPECT_FALSE(setting.meaning.empty()) << technique.id << " " << setting.name;
      EXPECT_LE(setting.least, setting.most) << technique.id << " " << setting.name;
      EXPECT_GE(setting.since, technique.since) << technique.id << " " << setting.name;
    }
    EXPECT_TRUE(!technique.for_loaders || technique.find("loaders") != nullptr) << technique.id;
  }
}

}  // namespace
}  // namespace vramfit::model
