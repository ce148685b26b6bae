#include "tui/cell_grid.h"

#include <gtest/gtest.h>

namespace vramfit::tui {
namespace {

using Lines = std::vector<std::string>;

TEST(CellGrid, text_is_clipped_at_every_edge) {
  CellGrid grid({5, 2});
  grid.put(3, 0, "abc");
  grid.put(-2, 1, "xyz");
  grid.put(0, 7, "nowhere");
  EXPECT_EQ(grid.to_lines(), (Lines{"   ab", "z"}));
}

TEST(CellGrid, wide_characters_take_two_columns_and_combining_ones_none) {
  EXPECT_EQ(columns_of("日本"), 4);
  EXPECT_EQ(columns_of("e\xcc\x81"), 1);
  EXPECT_EQ(fit("日本語", 5, "…"), "日本…");
  CellGrid grid({3, 1});
  grid.put(0, 0, "日本");
  EXPECT_EQ(grid.to_lines(), Lines{"日"});
}

TEST(CellGrid, bytes_that_are_no_text_become_question_marks) {
  CellGrid grid({8, 1});
  grid.put(0, 0, "a\xff\033[2J");
  EXPECT_EQ(grid.to_lines(), Lines{"a??[2J"});
}

TEST(CellGrid, only_what_changed_is_sent) {
  CellGrid before({10, 2}), after({10, 2});
  before.put(0, 0, "same");
  after.put(0, 0, "same");
  EXPECT_EQ(after.to_escapes(&before, true), "");
  after.put(2, 1, "x", Style::kBad);
  EXPECT_EQ(after.to_escapes(&before, true), "\033[2;3H\033[0;1;31mx\033[0m");
  EXPECT_EQ(after.to_escapes(&before, false), "\033[2;3H\033[0;1mx\033[0m");
}

TEST(CellGrid, another_size_is_drawn_from_nothing) {
  CellGrid before({4, 1}), after({5, 1});
  after.put(1, 0, "x");
  EXPECT_EQ(after.to_escapes(&before, false), "\033[0m\033[2J\033[1;2H\033[0mx\033[0m");
}

TEST(CellGrid, a_character_that_was_removed_is_overwritten) {
  CellGrid before({4, 1}), after({4, 1});
  before.put(0, 0, "ab");
  after.put(0, 0, "a");
  EXPECT_EQ(after.to_escapes(&before, false), "\033[1;2H\033[0m \033[0m");
}

}  // namespace
}  // namespace vramfit::tui
