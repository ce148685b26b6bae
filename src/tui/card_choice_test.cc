#include "tui/card_choice.h"

#include <gtest/gtest.h>

#include "tui/testing/samples.h"

namespace vramfit::tui {
namespace {

using Words = std::vector<std::string>;

Words chosen_of(const model::MachineSample& sample, const CardChoice& choice) {
  Words uuids;
  for (const auto& card : sample.cards) {
    if (is_chosen(card, sample, choice)) uuids.push_back(card.uuid.substr(0, 12));
  }
  return uuids;
}

TEST(CardChoice, cards_are_chosen_by_number_or_uuid_with_their_slices) {
  const auto sample = testing::busy_machine();
  EXPECT_EQ(chosen_of(sample, {}).size(), sample.cards.size());
  EXPECT_EQ(chosen_of(sample, {"1"}), (Words{"GPU-1d2f3a41"}));
  EXPECT_EQ(chosen_of(sample, {"2"}), (Words{"GPU-1d2f3a42", "MIG-1"}));
  EXPECT_EQ(chosen_of(sample, {"3", "GPU-1d2f3a40"}), (Words{"GPU-1d2f3a40", "GPU-1d2f3a43"}));
  EXPECT_EQ(chosen_of(sample, {"MIG-1"}), (Words{"MIG-1"}));
  EXPECT_TRUE(chosen_of(sample, {"GPU-"}).empty()) << "that is every card";
}

TEST(CardChoice, what_is_no_card_is_told) {
  const auto sample = testing::busy_machine();
  EXPECT_EQ(missing_cards(sample, {"0", "7", "v0"}), (Words{"7", "v0"}));
  EXPECT_TRUE(missing_cards(sample, {}).empty());
}

TEST(CardChoice, virtual_cards_of_all_sessions_have_numbers_of_their_own) {
  auto sample = testing::large_machine();
  sample.cards.resize(3);
  sample.cards[1].session = "a-1";
  sample.cards[2].session = "b-1";
  sample.cards[2].index = 0;
  EXPECT_EQ(card_labels(sample), (Words{"0", "v0", "v1"}));
  EXPECT_EQ(chosen_of(sample, {"v1"}), (Words{"GPU-1d2f3a42"}));
}

TEST(CardChoice, digits_and_steps_go_from_card_to_card) {
  const Words labels = {"0", "v0", "v1"};
  CardChoice choice;
  choose_digit(choice, "1", labels);
  EXPECT_EQ(choice, (CardChoice{"v1"})) << "there is no other card 1";
  choose_digit(choice, "0", labels);
  EXPECT_EQ(choice, (CardChoice{"0"}));
  choose_digit(choice, "8", labels);
  EXPECT_EQ(choice, (CardChoice{"0"})) << "there is no card 8";
  Words seen;
  for (int i = 0; i < 4; ++i) {
    step(choice, 1, labels);
    seen.push_back(choice.empty() ? "all" : choice.front());
  }
  EXPECT_EQ(seen, (Words{"v0", "v1", "all", "0"}));
  step(choice, -1, labels);
  EXPECT_TRUE(choice.empty());
  step(choice, -1, labels);
  EXPECT_EQ(choice, (CardChoice{"v1"}));
  choice = {"0", "v1"};
  step(choice, 1, labels);
  EXPECT_EQ(choice, (CardChoice{"0"}));
  step(choice, 1, {});
  EXPECT_TRUE(choice.empty());
}

}  // namespace
}  // namespace vramfit::tui
