#include "base/parse_number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace vramfit::base {
namespace {

TEST(ParseNumber, takes_a_whole_text_or_nothing) {
  EXPECT_EQ(parse_number<int>("42"), 42);
  EXPECT_EQ(parse_number<int>("-7"), -7);
  EXPECT_EQ(parse_number<double>("2.5e3"), 2500.0);
  for (const char* text : {"", " 42", "42 ", "+42", "4x", "x4", "0x10"})
    EXPECT_EQ(parse_number<int>(text), std::nullopt);
}

TEST(ParseNumber, refuses_what_its_type_can_not_hold) {
  EXPECT_EQ(parse_number<std::int8_t>("128"), std::nullopt);
  EXPECT_EQ(parse_number<unsigned>("-1"), std::nullopt);
  EXPECT_EQ(parse_number<std::int64_t>("9223372036854775808"), std::nullopt);
}

TEST(ParseNumber, reads_other_bases) {
  EXPECT_EQ(parse_number_in_base<std::uint32_t>("1F90", 16), 8080u);
  EXPECT_EQ(parse_number_in_base<std::uint32_t>("1G", 16), std::nullopt);
}

}  // namespace
}  // namespace vramfit::base
