#include "allocator/rules.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace vramfit::allocator {
namespace {

TEST(Rules, versions_are_read_as_torch_writes_them) {
  EXPECT_EQ(parse_torch_version("2.6.0+cu124"), (TorchVersion{2, 6}));
  EXPECT_EQ(parse_torch_version("2.12.1"), (TorchVersion{2, 12}));
  EXPECT_EQ(parse_torch_version("2.13.0a0+git1234"), (TorchVersion{2, 13}));
  for (const char* wrong : {"", "2", "2.", "x.1", ".5", "-2.6", "nightly"}) {
    EXPECT_FALSE(parse_torch_version(wrong)) << wrong;
  }
}

TEST(Rules, versions_are_ordered_by_number_and_not_by_text) {
  EXPECT_LT((TorchVersion{2, 9}), (TorchVersion{2, 10}));
  EXPECT_LT((TorchVersion{2, 14}), (TorchVersion{3, 0}));
}

TEST(Rules, each_is_on_from_its_own_release_and_off_before) {
  for (const Rule& rule : known_rules()) {
    const TorchVersion before{rule.torch_from.major, rule.torch_from.minor - 1};
    EXPECT_TRUE(rules_of(rule.torch_from).*rule.on) << rule.name;
    EXPECT_FALSE(rules_of(before).*rule.on) << rule.name;
    EXPECT_TRUE((rules_of({9, 0}).*rule.on)) << rule.name;
  }
}

TEST(Rules, each_has_a_name_of_its_own_and_says_where_it_is_to_be_read) {
  std::set<std::string_view> names;
  for (const Rule& rule : known_rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_GT(rule.meaning.size(), 20U) << rule.name;
  }
}

}  // namespace
}  // namespace vramfit::allocator
