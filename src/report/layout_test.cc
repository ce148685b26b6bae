#include "report/layout.h"

#include <gtest/gtest.h>

namespace vramfit::report {
namespace {

TEST(Layout, text_is_broken_at_spaces_and_continued_with_an_indent) {
  EXPECT_EQ(wrap("one two three four", 9, 2), "one two\n  three\n  four");
  EXPECT_EQ(wrap("averyveryverylongword x", 5, 1), "averyveryverylongword\n x");
  EXPECT_EQ(wrap("", 10, 2), "");
}

TEST(Layout, width_is_counted_in_characters_not_bytes) {
  EXPECT_EQ(columns("[✓] ±"), 5u);
  EXPECT_EQ(shorten("ääääääääää", 5), "ää…ää");
}

TEST(Layout, long_texts_lose_their_middle) {
  EXPECT_EQ(shorten("backbone.layer1.conv1", 11), "backb…conv1");
  EXPECT_EQ(shorten("short", 11), "short");
}

TEST(Layout, table_columns_line_up) {
  const std::string text =
      table({{Align::kLeft, 6}, {Align::kRight, 8}}, {{"card", "used"}, {"a", "1"}, {"longer than six", "22"}});
  EXPECT_EQ(text,
            "  card    used\n"
            "  a          1\n"
            "  lon…ix    22\n");
}

TEST(Layout, a_cell_of_several_lines_is_shown_in_one) {
  EXPECT_EQ(table({{}, {}}, {{"import torch\n\tprint()", "2"}}), "  import torch print()  2\n");
}

TEST(Layout, line_breaks_in_a_text_are_kept_and_empty_lines_are_not) {
  EXPECT_EQ(wrap("one two\nthree\n\nfour five six\n", 11, 2), "one two\n  three\n  four five\n  six");
}

TEST(PaintMarks, colours_the_marks_and_nothing_else) {
  EXPECT_EQ(paint_marks("[✓] fits [1]"), "\033[32m[✓]\033[0m fits [1]");
  EXPECT_EQ(paint_marks("a [✗][!]"), "a \033[31m[✗]\033[0m\033[33m[!]\033[0m");
}

}  // namespace
}  // namespace vramfit::report
