#include "ingest/pickle/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace vramfit::ingest::pickle {
namespace {

using namespace std::string_literals;

TEST(PickleNumbers, little_endian_bytes_are_a_signed_integer) {
  EXPECT_EQ(narrow(""), 0);
  EXPECT_EQ(narrow("\xff"), -1);
  EXPECT_EQ(narrow("\xff\x00"s), 255);
  EXPECT_EQ(narrow("\x00\x80"s), -32768);
  EXPECT_EQ(narrow("\xff\xff\xff\xff\xff\xff\xff\x7f"s), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(narrow("\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"s), 5) << "padding beyond eight bytes says nothing";
  EXPECT_EQ(narrow("\xff\xff\xff\xff\xff\xff\xff\xff\x00"s), std::nullopt);
}

TEST(PickleNumbers, what_pytorch_wrote_as_size_t_is_read_up_to_two_to_the_64) {
  EXPECT_EQ(narrow_unsigned("\xff\xff\xff\xff\xff\xff\xff\xff\x00"s), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(narrow_unsigned("\xff"), std::nullopt) << "negative";
  EXPECT_EQ(narrow_unsigned("\x00\x00\x00\x00\x00\x00\x00\x00\x01"s), std::nullopt) << "2^64";
}

TEST(PickleNumbers, decimals_and_bytes_and_hex_agree) {
  EXPECT_EQ(to_hex(*parse_decimal("18446744073709551616")), "0x10000000000000000");
  EXPECT_EQ(to_hex(*parse_decimal("-18446744073709551616")), "-0x10000000000000000");
  EXPECT_EQ(to_hex(*parse_decimal("-1")), "-0x1");
  EXPECT_EQ(to_hex(*parse_decimal("0")), "0x0");
  EXPECT_EQ(narrow(*parse_decimal("-9223372036854775808")), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse_decimal(""), std::nullopt);
  EXPECT_EQ(parse_decimal("12a"), std::nullopt);
  EXPECT_EQ(parse_decimal(std::string(kMaxDigits + 1, '9')), std::nullopt);
}

TEST(PickleNumbers, floats_are_read_as_repr_writes_them) {
  EXPECT_EQ(parse_float("1.5"), 1.5);
  EXPECT_EQ(parse_float("-inf"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(*parse_float("nan")));
  EXPECT_EQ(parse_float("1e999"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(parse_float("5e-324"), 5e-324);
  EXPECT_EQ(parse_float("1.5x"), std::nullopt);
  EXPECT_EQ(parse_float(""), std::nullopt);
}

TEST(PickleNumbers, escapes_of_both_old_kinds_are_undone) {
  EXPECT_EQ(parse_raw_unicode_escape("a\\u20ac\\U0001f600\xe9"), "a\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa9");
  EXPECT_EQ(parse_raw_unicode_escape("\\u12"), std::nullopt);
  EXPECT_EQ(parse_raw_unicode_escape("\\U00110000"), std::nullopt);
  EXPECT_EQ(parse_quoted("'a\\n\\x00\\101\\''"), "a\n\0A'"s);
  EXPECT_EQ(parse_quoted("'a"), std::nullopt);
  EXPECT_EQ(parse_quoted("'a\\'"), std::nullopt);
}

TEST(PickleNumbers, text_is_latin1_only_when_every_code_point_is_a_byte) {
  EXPECT_EQ(to_latin1("a\xc3\xbf"), "a\xff");
  EXPECT_EQ(to_latin1("\xe2\x82\xac"), std::nullopt);
  EXPECT_EQ(to_latin1("\xff"), std::nullopt);
}

}  // namespace
}  // namespace vramfit::ingest::pickle
