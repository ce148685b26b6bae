#include "ingest/cards.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace vramfit::ingest {
namespace {

constexpr std::string_view kOne = R"(
[[card]]
key = "toy"
name = "NVIDIA Toy"
aliases = ["toy 1"]
memory_bytes = 1073741824
compute_capability = "8.6"
sm_count = 4
[card.rates]
fp32 = 1.5
[card.overhead.12]
context_lazy_bytes = 1048576
kernel_bytes = 2097152
library_bytes = 1048576
[card.sources]
memory = "imagined"
)";

TEST(Cards, every_figure_arrives) {
  const auto cards = parse_cards(kOne, "toy.toml");
  ASSERT_TRUE(cards);
  ASSERT_EQ(cards->size(), 1u);
  const model::Card& card = cards->front();
  EXPECT_EQ(card.key, "toy");
  EXPECT_EQ(card.memory, base::Bytes::gib(1));
  EXPECT_EQ(card.capability, (model::ComputeCapability{8, 6}));
  EXPECT_EQ(card.rates.fp32, 1.5);
  EXPECT_EQ(card.rates.fp64, std::nullopt) << "a rate that is not given is unknown, not 0";
  EXPECT_EQ(card.overhead.at(12).context_lazy, base::Bytes::mib(1));
  EXPECT_EQ(card.overhead.at(12).kernels, base::Bytes::mib(2));
  EXPECT_EQ(card.overhead.at(12).library, base::Bytes::mib(1));
  EXPECT_EQ(card.sources.at("memory"), "imagined");
}

TEST(Cards, a_users_card_takes_the_rest_from_a_known_one) {
  const auto known = parse_cards(kOne, "toy.toml").value();
  const auto cards = parse_cards("based_on = \"toy\"\nkey = \"mine\"\nmemory_bytes = 5", "mine.toml", known);
  ASSERT_TRUE(cards) << to_string(cards.error());
  EXPECT_EQ(cards->front().memory, base::Bytes(5));
  EXPECT_EQ(cards->front().sm_count, 4);
  EXPECT_EQ(cards->front().name, "NVIDIA Toy");
}

struct Bad {
  std::string_view text, where, word;
};

class CorruptCards : public testing::TestWithParam<Bad> {};

TEST_P(CorruptCards, are_refused_with_the_line) {
  const auto cards = parse_cards(GetParam().text, "bad.toml");
  ASSERT_FALSE(cards);
  EXPECT_EQ(cards.error().where, GetParam().where);
  EXPECT_NE(to_string(cards.error()).find(GetParam().word), std::string::npos) << to_string(cards.error());
}

INSTANTIATE_TEST_SUITE_P(
    all, CorruptCards,
    testing::Values(Bad{"[[card]]\nname = ", "bad.toml:2", ""}, Bad{"[[card]]\nkey = 3\n", "bad.toml:2", "`key`"},
                    Bad{"[[card]]\nname = \"x\"\n", "bad.toml:1", "memory_bytes"},
                    Bad{"[[card]]\nmemory_bytes = -1\n", "bad.toml:2", "negative"},
                    Bad{"[[card]]\nmemory_bytes = \"lots\"\n", "bad.toml:2", "number"},
                    Bad{"[[card]]\ncompute_capability = \"eight\"\n", "bad.toml:2", "8.6"},
                    Bad{"[[card]]\nsm_cuont = 4\n", "bad.toml:2", "did you mean `sm_count`?"},
                    Bad{"[[card]]\n[card.rates]\nfp23 = 4\n", "bad.toml:3", "did you mean `fp32`?"},
                    Bad{"[[card]]\nmemmory = 4\n", "bad.toml:2", "did you mean `memory_bytes`?"},
                    Bad{"[[card]]\nmig = 4\n", "bad.toml:2", "list of tables"},
                    Bad{"[[card]]\nmig = [{ profile = \"1g.5gb\" }]\n", "bad.toml:2", "sm_count"},
                    Bad{"[[card]]\naliases = \"a\"\n", "bad.toml:2", "list"},
                    Bad{"[[card]]\nrates = 7\n", "bad.toml:2", "table"},
                    Bad{"[[card]]\n[card.rates]\nfp32 = \"fast\"\n", "bad.toml:3", "fp32"},
                    Bad{"[[card]]\n[card.overhead.12]\nkernel_bytes = \"x\"\n", "bad.toml:3", "kernel_bytes"},
                    Bad{"[[card]]\n[card.overhead]\n12 = 4\n", "bad.toml:3", "table"},
                    Bad{"card = [1]", "bad.toml:1", "tables"}, Bad{"based_on = \"nobody\"", "bad.toml:1", "nobody"}));

TEST(Cards, two_cards_with_one_key_are_refused) {
  const auto cards = parse_cards(std::string(kOne) + std::string(kOne), "toy.toml");
  ASSERT_FALSE(cards);
  EXPECT_NE(cards.error().what.find("\"toy\""), std::string::npos);
}

TEST(Cards, the_catalogue_that_ships_is_read_and_large_enough) {
  const auto cards = read_cards(VRAMFIT_SOURCE_DIR "/src/devices/cards.toml");
  ASSERT_TRUE(cards) << to_string(cards.error());
  EXPECT_GE(cards->size(), 120u);
  EXPECT_TRUE(std::ranges::all_of(*cards, [](const model::Card& card) { return card.overhead.contains(12); }));
}

}  // namespace
}  // namespace vramfit::ingest
