#include "report/page/packed.h"

#include <gtest/gtest.h>

namespace vramfit::report::page {

namespace {

std::string encoded(std::string_view text) { return base64(std::as_bytes(std::span(text))); }

}  // namespace

TEST(Packed, base64_is_that_of_rfc_4648) {
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foob"), "Zm9vYg==");
  EXPECT_EQ(encoded("fooba"), "Zm9vYmE=");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encoded("\xff\xfe\xfd"), "//79");
}

TEST(Packed, numbers_are_little_endian_and_say_their_type) {
  EXPECT_EQ(packed("a", std::vector<std::uint16_t>{1, 2}), "<i data-array=\"a\" data-type=\"u16\">AQACAA==</i>\n");
  EXPECT_EQ(packed("b", std::vector<std::uint32_t>{1}), "<i data-array=\"b\" data-type=\"u32\">AQAAAA==</i>\n");
  EXPECT_EQ(packed("c", std::vector<double>{0}), "<i data-array=\"c\" data-type=\"f64\">AAAAAAAAAAA=</i>\n");
}

TEST(Packed, texts_are_one_a_line_and_stay_text) {
  const std::string html = packed("names", std::vector<std::string>{"", "a\nb", "</i><script>"});
  EXPECT_EQ(html, "<i data-texts=\"names\" data-count=\"3\">\na b\n&lt;/i&gt;&lt;script&gt;</i>\n");
}

}  // namespace vramfit::report::page
