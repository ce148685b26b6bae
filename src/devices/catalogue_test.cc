#include "devices/catalogue.h"

#include <gtest/gtest.h>

namespace vramfit::devices {
namespace {

using base::Bytes;

model::Card card(std::string key, std::string name, std::int64_t gib, std::vector<std::string> aliases = {}) {
  model::Card result;
  result.key = std::move(key);
  result.name = std::move(name);
  result.memory = Bytes::gib(gib);
  result.aliases = std::move(aliases);
  return result;
}

const std::vector<model::Card> kCards = {card("gtx1070", "NVIDIA GeForce GTX 1070", 8),
                                         card("rtx3060", "NVIDIA GeForce RTX 3060", 12),
                                         card("rtx3060ti", "NVIDIA GeForce RTX 3060 Ti", 8),
                                         card("v100-16gb", "Tesla V100-SXM2-16GB", 16),
                                         card("v100-32gb", "Tesla V100-SXM2-32GB", 32),
                                         card("a100-40gb", "NVIDIA A100-SXM4-40GB", 40, {"a100"}),
                                         card("a100-80gb", "NVIDIA A100-SXM4-80GB", 80),
                                         card("t4", "Tesla T4", 15),
                                         card("rtx4060-laptop", "NVIDIA GeForce RTX 4060 Laptop GPU", 8)};

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
                                         std::pair("a100", "a100-40gb")));

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
  EXPECT_TRUE(find_card(kCards, "gtx1071").error().remedy.starts_with("gtx1070"));
}

TEST(Catalogue, the_option_is_a_list_with_counts_and_sizes) {
  using Requests = std::vector<CardRequest>;
  EXPECT_EQ(parse_gpu_option("8xV100-32GB"), (Requests{{8, "V100-32GB", std::nullopt}}));
  EXPECT_EQ(parse_gpu_option("rtx3090:20GiB"), (Requests{{1, "rtx3090", Bytes::gib(20)}}));
  EXPECT_EQ(parse_gpu_option("a100-40gb, 2 x t4"),
            (Requests{{1, "a100-40gb", std::nullopt}, {1, "2 x t4", std::nullopt}}));
  EXPECT_EQ(parse_gpu_option("a100-40gb,2xt4:8g"),
            (Requests{{1, "a100-40gb", std::nullopt}, {2, "t4", Bytes::gib(8)}}));
  EXPECT_EQ(parse_gpu_option("GTX 1070"), (Requests{{1, "GTX 1070", std::nullopt}}));
}

TEST(Catalogue, nonsense_in_the_option_is_refused) {
  for (const char* option : {"", ",", "t4:", "t4:0", "t4:much", "17xt4", "9xt4,8xt4", "0xt4"}) {
    EXPECT_FALSE(parse_gpu_option(option)) << option;
  }
}

}  // namespace
}  // namespace vramfit::devices
