#include "tui/watch_state.h"

#include <gtest/gtest.h>

#include <vector>

namespace vramfit::tui {
namespace {

std::vector<Key> keys_of(std::string bytes, bool no_more = false) {
  std::vector<Key> keys;
  for (Key key; take_key(bytes, key, no_more);) keys.push_back(key);
  return keys;
}

WatchState after(const std::string& bytes, int rows = 5) {
  WatchState state;
  for (const Key& key : keys_of(bytes, true)) press(state, key, {.rows = rows, .cards = {"0", "1", "2", "3"}});
  return state;
}

TEST(WatchState, sequences_are_keys_and_unknown_ones_are_swallowed) {
  EXPECT_EQ(keys_of("\033[A\033OBq"),
            (std::vector<Key>{{KeyKind::kUp, ""}, {KeyKind::kDown, ""}, {KeyKind::kCharacter, "q"}}));
  EXPECT_EQ(keys_of("\033[200~x"), (std::vector<Key>{{KeyKind::kCharacter, ""}, {KeyKind::kCharacter, "x"}}));
  EXPECT_EQ(keys_of("é"), (std::vector<Key>{{KeyKind::kCharacter, "é"}}));
}

TEST(WatchState, an_escape_byte_waits_for_what_may_follow) {
  EXPECT_TRUE(keys_of("\033").empty());
  EXPECT_EQ(keys_of("\033", true), (std::vector<Key>{{KeyKind::kEscape, ""}}));
  EXPECT_TRUE(keys_of("\033[").empty());
}

TEST(WatchState, letters_choose) {
  EXPECT_TRUE(after("q").quit);
  EXPECT_EQ(after("s").sort, SortBy::kCard);
  EXPECT_EQ(after("ssssss").sort, SortBy::kMemory);
  EXPECT_TRUE(after("t").tree);
  EXPECT_TRUE(after(" ").paused);
  EXPECT_EQ(after("--").stride, 4);
  EXPECT_EQ(after("--+++").stride, 1);
}

TEST(WatchState, digits_and_arrows_choose_a_card_and_a_all_of_them) {
  EXPECT_EQ(after("2").cards, (CardChoice{"2"}));
  EXPECT_EQ(after("21").cards, (CardChoice{"1"}));
  EXPECT_TRUE(after("2a").cards.empty());
  EXPECT_EQ(after("\033[C").cards, (CardChoice{"0"}));
  EXPECT_EQ(after("\033OD\033[D").cards, (CardChoice{"2"}));
  EXPECT_TRUE(after("/2").cards.empty()) << "it is typed into the filter";
}

TEST(WatchState, the_selection_stays_within_the_rows) {
  EXPECT_EQ(after("jjjjjjjjj").selected, 4);
  EXPECT_EQ(after("k").selected, 0);
  EXPECT_EQ(after("\033[F").selected, 4);
  EXPECT_EQ(after("j", 0).selected, 0);
}

TEST(WatchState, a_filter_is_typed_corrected_and_left) {
  const WatchState typed = after("/q\xc3\xa9z\x7f\x7f!\r");
  EXPECT_EQ(typed.filter, "q!");
  EXPECT_FALSE(typed.typing);
  EXPECT_FALSE(typed.quit);
  EXPECT_EQ(after("/abc\033").filter, "");
}

}  // namespace
}  // namespace vramfit::tui
