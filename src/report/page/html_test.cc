#include "report/page/html.h"

#include <gtest/gtest.h>

namespace vramfit::report::page {

TEST(Html, what_has_a_meaning_in_html_is_escaped_in_text_and_attributes) {
  EXPECT_EQ(escape("</script><img src=x onerror='a(\"b\")'>&amp;"),
            "&lt;/script&gt;&lt;img src=x onerror=&#39;a(&quot;b&quot;)&#39;&gt;&amp;amp;");
}

TEST(Html, utf8_stays_as_it_is) {
  const std::string text = "größe 显存 😀 \t\n×";
  EXPECT_EQ(escape(text), text);
}

TEST(Html, what_is_no_utf8_is_replaced_byte_by_byte) {
  const std::string replacement = "\xEF\xBF\xBD";
  EXPECT_EQ(escape("a\xFFz"), "a" + replacement + "z");
  EXPECT_EQ(escape("\xC0\xAF"), replacement + replacement);                                      // overlong
  EXPECT_EQ(escape("\xED\xA0\x80"), replacement + replacement + replacement);                    // a surrogate
  EXPECT_EQ(escape("\xF4\x90\x80\x80"), replacement + replacement + replacement + replacement);  // past U+10FFFF
  EXPECT_EQ(escape("\xE2\x82"), replacement + replacement);                                      // cut short
  EXPECT_EQ(escape("\xE2<b>"), replacement + "&lt;b&gt;");  // a broken character hides nothing behind it
}

TEST(Html, control_characters_and_turned_direction_are_shown_as_replaced) {
  const std::string replacement = "\xEF\xBF\xBD";
  EXPECT_EQ(escape(std::string_view("a\0b\x1b[0m", 7)), "a" + replacement + "b" + replacement + "[0m");
  EXPECT_EQ(escape("a\xE2\x80\xAE"
                   "b"),
            "a" + replacement + "b");  // U+202E
}

TEST(Html, a_table_heads_its_columns_and_rows_and_escapes_its_titles) {
  const std::string html = table("a<b", {{"x"}, {"y&", true}}, {{"one", "2"}});
  EXPECT_NE(html.find("<caption>a&lt;b</caption>"), std::string::npos) << html;
  EXPECT_NE(html.find("<th scope=\"col\" class=\"number\">y&amp;</th>"), std::string::npos) << html;
  EXPECT_NE(html.find("<th scope=\"row\">one</th><td class=\"number\">2</td>"), std::string::npos) << html;
}

}  // namespace vramfit::report::page
