#include "devices/catalogue.h"

#include <gtest/gtest.h>

namespace vramfit::devices {
namespace {

using base::Bytes;

model::Card made_card(std::string key, std::string name, std::int64_t gib, std::vector<std::string> aliases = {}) {
  model::Card result;
  result.key = std::move(key);
  result.name = std::move(name);
  result.memory = Bytes::gib(gib);
  result.aliases = std::move(aliases);
  return result;
}

const std::vector<model::Card> kCards = {made_card("gtx1070", "NVIDIA GeForce GTX 1070", 8),
                                         made_card("rtx3060", "NVIDIA GeForce RTX 3060", 12),
                                         made_card("rtx3060ti", "NVIDIA GeForce RTX 3060 Ti", 8),
                                         made_card("v100-16gb", "Tesla V100-SXM2-16GB", 16),
                                         made_card("v100-32gb", "Tesla V100-SXM2-32GB", 32),
                                         made_card("a100-40gb", "NVIDIA A100-SXM4-40GB", 40, {"a100"}),
                                         made_card("a100-80gb", "NVIDIA A100-SXM4-80GB", 80),
                                         made_card("t4", "Tesla T4", 15),
                                         made_card("rtx4060-laptop", "NVIDIA GeForce RTX 4060 Laptop GPU", 8)};

class Spellings : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(Spellings, find_the_card) {
  const auto match = find_card(kCards, GetParam().first);
  ASSERT_TRUE(match) << to_string(match.error());
  EXPECT_EQ(match->card.key, GetParam().second);
  EXPECT_EQ(match->note, "");
}

INSTANTIATE_TEST_SUITE_P(all, Spellings,
                         testing::Values(std::pair("GTX 1070", "gtx1070"), std::pair("gtx1070", "gtx1070"),
                                         std::pair("NVIDIA GeForce RTX 3060", "rtx3060"),
                                         std::pair("GeForce_rtx-3060", "rtx3060"),
                                         std::pair("RTX 3060 Ti", "rtx3060ti"), std::pair("rtx3060TI", "rtx3060ti"),
                                         std::pair("V100-32GB", "v100-32gb"), std::pair("v100 32 GiB", "v100-32gb"),
                                         std::pair("V100 32g", "v100-32gb"), std::pair("Tesla T4", "t4"),
                                         std::pair("RTX 4060 Laptop", "rtx4060-laptop"),
                                         std::pair("A100 SXM4 80 GB", "a100-80gb"), std::pair("80GB A100", "a100-80gb"),
                                         std::pair("a10080gb", "a100-80gb"), std::pair("nvidia a100-40", "a100-40gb"),
                                         std::pair("T4 16GB", "t4"), std::pair("RTX 3060 12GB", "rtx3060"),
                                         std::pair("geforcertx3060ti", "rtx3060ti")));

TEST(Catalogue, a_name_of_several_cards_takes_the_smallest_and_says_so) {
  const auto match = find_card(kCards, "V100");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->card.key, "v100-16gb");
  EXPECT_NE(match->note.find("v100-32gb"), std::string::npos);
}

TEST(Catalogue, an_unknown_name_gets_the_nearest_ones) {
  for (const char* name : {"GTX 1071", "rtx 3060 super", "", "4060 ti"}) {
    const auto match = find_card(kCards, name);
    ASSERT_FALSE(match) << name;
    EXPECT_EQ(match.error().code, base::ErrorCode::kNotFound);
  }
  EXPECT_TRUE(find_card(kCards, "gtx1071").error().remedy.starts_with("the nearest names: gtx1070 (8.00 GiB)"));
  EXPECT_TRUE(find_card(kCards, "1700").error().remedy.starts_with("the nearest names: gtx1070 (8.00 GiB)"));
  EXPECT_TRUE(find_card(kCards, "1O70").error().remedy.starts_with("the nearest names: gtx1070 (8.00 GiB)"));
}

TEST(Catalogue, a_card_of_another_maker_is_refused_by_its_maker) {
  for (const auto& [name, maker] :
       {std::pair("mi300x", "AMD"), std::pair("AMD Instinct MI250", "AMD"), std::pair("rx 7900 XTX", "AMD"),
        std::pair("rx9070xt", "AMD"), std::pair("Radeon Pro W7900", "AMD"), std::pair("gfx1100", "AMD"),
        std::pair("rx580", "AMD"), std::pair("Arc A770", "Intel"), std::pair("gaudi2", "Intel")}) {
    const auto match = find_card(kCards, name);
    ASSERT_FALSE(match) << name;
    EXPECT_EQ(match.error().what,
              std::string("\"") + name + "\" is a card of " + maker + ", and only NVIDIA's cards are emulated");
    EXPECT_EQ(match.error().remedy.find("nearest"), std::string::npos) << match.error().remedy;
  }
  for (const char* name : {"rx 3061", "rx3071", "rx 5070"}) {
    EXPECT_NE(find_card(kCards, name).error().remedy.find("the nearest names"), std::string::npos) << name;
  }
}

TEST(Catalogue, a_name_without_its_series_is_announced_where_it_can_mean_one_card_only) {
  for (const auto& [typed, key] : {std::pair("1070", "gtx1070"), std::pair("3060 Ti", "rtx3060ti"),
                                   std::pair("4060 laptop", "rtx4060-laptop"), std::pair("3060", "rtx3060")}) {
    const auto match = find_card(kCards, typed);
    ASSERT_TRUE(match) << typed;
    EXPECT_EQ(match->card.key, key);
    EXPECT_NE(match->note.find(key), std::string::npos);
  }
  std::vector<model::Card> cards = {made_card("quadro-rtx6000", "Quadro RTX 6000", 24),
                                    made_card("rtx-6000-ada", "NVIDIA RTX 6000 Ada Generation", 48)};
  const auto both = find_card(cards, "RTX 6000");
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().remedy, "say which: quadro-rtx6000 (24.00 GiB), rtx-6000-ada (48.00 GiB)");
  cards.pop_back();
  EXPECT_TRUE(find_card(cards, "RTX 6000"));
}

TEST(Catalogue, another_size_of_a_known_model_is_refused_with_the_way_to_have_it) {
  const auto match = find_card(kCards, "RTX 3060 8GB");
  ASSERT_FALSE(match);
  EXPECT_EQ(match.error().remedy, "rtx3060 (12.00 GiB), or rtx3060:8GiB for one with that much memory");
}

// A name never means a card whose number it only begins: each of these once was taken as a larger one.
TEST(Catalogue, the_beginning_of_a_name_is_refused) {
  const std::vector<model::Card> cards = {made_card("h200", "NVIDIA H200", 140, {"h200-sxm", "h200-141gb"}),
                                          made_card("b200", "NVIDIA B200", 178, {"b200-180gb"}),
                                          made_card("h100", "NVIDIA H100 80GB HBM3", 79, {"h100-80gb"})};
  for (const char* typed : {"H20", "B20", "h1", "H10", "h2", "b2", "B", "H"})
    EXPECT_FALSE(find_card(cards, typed)) << typed;
  EXPECT_NE(find_card(cards, "H20").error().remedy.find("h200"), std::string::npos);
}

TEST(Catalogue, the_option_is_a_list_with_counts_and_sizes) {
  using Requests = std::vector<CardRequest>;
  EXPECT_EQ(parse_gpu_option("8xV100-32GB"), (Requests{{8, "V100-32GB", std::nullopt}}));
  EXPECT_EQ(parse_gpu_option("rtx3090:20GiB"), (Requests{{1, "rtx3090", Bytes::gib(20)}}));
  EXPECT_EQ(parse_gpu_option("a100-40gb, 2 x t4"), (Requests{{1, "a100-40gb", std::nullopt}, {2, "t4", std::nullopt}}));
  EXPECT_EQ(parse_gpu_option("V100-32GB x8"), (Requests{{8, "V100-32GB", std::nullopt}}));
  EXPECT_EQ(parse_gpu_option("A100x8 : 20 GiB"), (Requests{{8, "A100", Bytes::gib(20)}}));
  EXPECT_EQ(parse_gpu_option("4\u00d7 RTX 3090"), (Requests{{4, "RTX 3090", std::nullopt}}));
  EXPECT_EQ(parse_gpu_option("a100-40gb,2xt4:8g"),
            (Requests{{1, "a100-40gb", std::nullopt}, {2, "t4", Bytes::gib(8), "8g"}}));
  EXPECT_EQ(parse_gpu_option("GTX 1070"), (Requests{{1, "GTX 1070", std::nullopt}}));
}

TEST(Catalogue, what_a_name_leaves_open_is_announced) {
  const std::vector<model::Card> cards = {
      made_card("a100-40gb", "NVIDIA A100-SXM4-40GB", 40, {"a100-sxm4-40gb"}),
      made_card("a100-pcie-40gb", "NVIDIA A100-PCIE-40GB", 40),
      made_card("h100", "NVIDIA H100 80GB HBM3", 79, {"h100-sxm"}),
      made_card("h100-nvl", "NVIDIA H100 NVL", 93),
      made_card("rtxpro6000", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 95),
      made_card("rtx-6000-ada", "NVIDIA RTX 6000 Ada Generation", 47)};
  const auto note_of = [&](const char* typed) {
    const auto match = find_card(cards, typed);
    return match ? match->note : to_string(match.error());
  };
  EXPECT_NE(note_of("A100 40G").find("others: a100-pcie-40gb"), std::string::npos) << note_of("A100 40G");
  EXPECT_NE(note_of("H100 96gb").find("taken as h100-nvl"), std::string::npos) << note_of("H100 96gb");
  EXPECT_NE(note_of("RTX PRO 6000").find("Workstation Edition"), std::string::npos) << note_of("RTX PRO 6000");
  for (const char* exact : {"a100-40gb", "A100-SXM4-40GB", "A100 PCIe 40GB", "H100 NVL", "h100-nvl", "rtxpro6000",
                            "RTX 6000 Ada", "RTX PRO 6000 Blackwell Workstation Edition"}) {
    EXPECT_EQ(note_of(exact), "") << exact;
  }
}

TEST(Catalogue, the_digits_of_a_model_are_no_count) {
  for (const char* name : {"gtx 970", "GTX970", "mx450", "rtx 9999"}) {
    const auto requests = parse_gpu_option(name);
    ASSERT_TRUE(requests) << name;
    EXPECT_EQ(requests->front(), (CardRequest{1, name, std::nullopt}));
  }
  EXPECT_EQ(parse_gpu_option("a10gx8")->front(), (CardRequest{8, "a10g", std::nullopt}));
}

TEST(Catalogue, nonsense_in_the_option_is_refused) {
  for (const char* option : {"", ",", "t4:", "t4:0", "t4:much", "rtx3090:24", "t4x0", "17xt4", "9xt4,8xt4", "0xt4"}) {
    EXPECT_FALSE(parse_gpu_option(option)) << option;
  }
}

}  // namespace
}  // namespace vramfit::devices
