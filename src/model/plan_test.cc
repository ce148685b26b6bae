#include "model/plan.h"

#include <gtest/gtest.h>

namespace vramfit::model {
namespace {

const Change kChange = {"resize_input",
                        {{"scale", 0.75}, {"count", std::int64_t{2}}, {"names", std::vector<std::string>{"a", "b"}}}};

TEST(Change, settings_are_found_in_their_own_type) {
  EXPECT_EQ(find_number(kChange, "scale"), 0.75);
  EXPECT_EQ(find_integer(kChange, "count"), 2);
  EXPECT_EQ(find_names(kChange, "names"), (std::vector<std::string>{"a", "b"}));
}

TEST(Change, an_integer_answers_for_a_number_but_not_the_other_way) {
  EXPECT_EQ(find_number(kChange, "count"), 2.0);
  EXPECT_EQ(find_integer(kChange, "scale"), std::nullopt);
}

TEST(Change, an_absent_setting_is_not_a_default) {
  EXPECT_EQ(find_text(kChange, "dtype"), std::nullopt);
  EXPECT_TRUE(find_names(kChange, "modules").empty());
}

TEST(Plan, a_change_is_found_by_its_technique) {
  const Plan plan{"half", {kChange}};
  EXPECT_EQ(find_change(plan, "resize_input"), &plan.changes[0]);
  EXPECT_EQ(find_change(plan, "autocast"), nullptr);
}

}  // namespace
}  // namespace vramfit::model
