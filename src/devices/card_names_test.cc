#include "devices/card_names.h"

#include <gtest/gtest.h>

namespace vramfit::devices {
namespace {

using Words = std::vector<std::string>;

model::Card card(std::string key, std::string name, std::int64_t mib, std::vector<std::string> aliases = {}) {
  model::Card result;
  result.key = std::move(key);
  result.name = std::move(name);
  result.memory = base::Bytes::mib(mib);
  result.aliases = std::move(aliases);
  return result;
}

TEST(CardNames, words_leave_out_makers_and_part_the_series) {
  EXPECT_EQ(words_of("NVIDIA GeForce_RTX-3060 Ti"), (Words{"rtx", "3060", "ti"}));
  EXPECT_EQ(words_of("GeForceRTX3060Ti"), (Words{"rtx", "3060ti"}));
  EXPECT_EQ(words_of("TeslaV100"), (Words{"v100"}));
  EXPECT_EQ(words_of("  Tesla  "), Words{});
  EXPECT_EQ(words_of("rtx"), Words{"rtx"});
}

TEST(CardNames, units_are_spelled_one_way) {
  EXPECT_EQ(normalised("A100 40GiB"), "a10040gb");
  EXPECT_EQ(normalised("A100-40 g"), "a10040gb");
  EXPECT_EQ(normalised("a10g"), "a10g");
  EXPECT_EQ(normalised("G"), "g");
}

TEST(CardNames, a_name_is_a_model_its_forms_and_its_size) {
  EXPECT_EQ(parse_card_name("NVIDIA A100-SXM4-80GB"), (CardName{{"a100"}, {"sxm4"}, 80}));
  EXPECT_EQ(parse_card_name("80 GB A100 PCIe"), (CardName{{"a100"}, {"pcie"}, 80}));
  EXPECT_EQ(parse_card_name("V100-32"), (CardName{{"v100"}, {}, 32}));
  EXPECT_EQ(parse_card_name("GTX 980 Ti"), (CardName{{"gtx", "980", "ti"}, {}, std::nullopt}));
  EXPECT_EQ(parse_card_name("H100 HBM2e"), (CardName{{"h100"}, {"hbm2e"}, std::nullopt}));
  EXPECT_TRUE(parse_card_name("A100 40GB 80GB").has_two_sizes);
}

TEST(CardNames, a_size_is_what_a_maker_prints_on_the_box) {
  EXPECT_TRUE(is_size_of(16, base::Bytes::mib(14912)));    // T4
  EXPECT_TRUE(is_size_of(15, base::Bytes::mib(14912)));    // the same, as Colab tells it
  EXPECT_TRUE(is_size_of(48, base::Bytes::mib(45589)));    // L40S with ECC
  EXPECT_TRUE(is_size_of(141, base::Bytes::mib(143156)));  // H200
  EXPECT_FALSE(is_size_of(80, base::Bytes::mib(40326)));
  EXPECT_FALSE(is_size_of(8, base::Bytes::mib(12000)));
  EXPECT_FALSE(is_size_of(11, base::Bytes::mib(12000)));
}

TEST(CardNames, no_name_reaches_into_the_digits_of_another) {
  const model::Card h200 = card("h200", "NVIDIA H200", 143156, {"h200-141gb"});
  for (const char* typed :
       {"H20", "h2", "H2", "h20 0GB", "h", "200", "H200NVL", "H200 NVL", "H200 80GB", "H200 141GB 80GB"}) {
    EXPECT_EQ(match_name(CardNames(h200), typed), NameMatch::kNone) << typed;
  }
  const model::Card a10 = card("a10", "NVIDIA A10", 22731);
  EXPECT_EQ(match_name(CardNames(a10), "A10 24GB"), NameMatch::kAgrees);
  EXPECT_EQ(match_name(CardNames(a10), "a1024gb"), NameMatch::kAgrees);
  EXPECT_EQ(match_name(CardNames(a10), "a10080gb"), NameMatch::kNone);
  EXPECT_EQ(match_name(CardNames(a10), "a10024gb"), NameMatch::kNone);
  EXPECT_EQ(match_name(CardNames(a10), ""), NameMatch::kNone);
}

TEST(CardNames, a_series_or_a_generation_may_be_left_out_at_the_ends_only) {
  const model::Card ada = card("rtx-6000-ada", "NVIDIA RTX 6000 Ada Generation", 48519);
  for (const char* typed : {"RTX 6000", "6000 Ada", "6000", "RTX 6000 48GB"}) {
    EXPECT_EQ(match_name(CardNames(ada), typed), NameMatch::kShortened) << typed;
  }
  for (const char* typed : {"ada", "RTX", "GTX 6000", "RTX 6000 24GB", "RTX 600", "rtx ada"}) {
    EXPECT_EQ(match_name(CardNames(ada), typed), NameMatch::kNone) << typed;
  }
}

}  // namespace
}  // namespace vramfit::devices
