#include "base/bytes.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

namespace vramfit::base {
namespace {

constexpr Bytes kLargest{std::numeric_limits<std::int64_t>::max()};

TEST(Bytes, sizes_are_read_in_the_spellings_people_use) {
  EXPECT_EQ(parse_bytes("1343MiB").value(), Bytes::mib(1343));
  EXPECT_EQ(parse_bytes("20GiB").value(), Bytes::gib(20));
  EXPECT_EQ(parse_bytes("2g").value(), Bytes::gib(2));
  EXPECT_EQ(parse_bytes("1.5 GB").value(), Bytes::mib(1536));
  EXPECT_EQ(parse_bytes("4096").value(), Bytes(4096));
  EXPECT_EQ(parse_bytes("512k").value(), Bytes(512 * 1024));
  EXPECT_EQ(parse_bytes("0").value(), Bytes(0));
}

TEST(Bytes, what_is_not_a_size_is_refused_with_an_example) {
  for (const char* text : {"", "GiB", "-1g", "12 apples", "1e400g", "99999999999g", "nan", "inf", "1gg"}) {
    const auto size = parse_bytes(text);
    ASSERT_FALSE(size) << text;
    EXPECT_NE(size.error().remedy.find("1343MiB"), std::string::npos);
  }
}

TEST(Bytes, addition_that_would_wrap_is_refused) {
  EXPECT_EQ(checked_add(kLargest, Bytes(1)), std::nullopt);
  EXPECT_EQ(checked_add(Bytes(2), Bytes(3)), Bytes(5));
  EXPECT_THROW(kLargest + Bytes(1), std::overflow_error);
  EXPECT_THROW(-kLargest - Bytes(2), std::overflow_error);
}

TEST(Bytes, are_shown_in_binary_units) {
  EXPECT_EQ(to_string(Bytes(512)), "512 B");
  EXPECT_EQ(to_string(Bytes(1536)), "1.5 KiB");
  EXPECT_EQ(to_string(Bytes::mib(1343)), "1343 MiB");
  EXPECT_EQ(to_string(Bytes(8510701568)), "7.93 GiB");
  EXPECT_EQ(to_string(Bytes::gib(3252)), "3.18 TiB");
  EXPECT_EQ(to_string(Bytes::mib(-20)), "-20 MiB");
}

TEST(Bytes, rounding_up_keeps_multiples) {
  EXPECT_EQ(round_up(Bytes(1), Bytes::mib(2)), Bytes::mib(2));
  EXPECT_EQ(round_up(Bytes::mib(4), Bytes::mib(2)), Bytes::mib(4));
}

}  // namespace
}  // namespace vramfit::base
