#include "devices/mig.h"

#include <gtest/gtest.h>

#include "devices/catalogue.h"

namespace vramfit::devices {
namespace {

using base::Bytes;

model::Card h100() {
  model::Card card;
  card.key = "h100";
  card.name = "NVIDIA H100 80GB HBM3";
  card.memory = Bytes::mib(80997);
  card.sm_count = 132;
  card.l2 = Bytes::mib(48);
  card.bandwidth_gbps = 3352;
  card.rates.bf16 = 989.5;
  card.overhead[12] = {Bytes::mib(520), Bytes::mib(1749), Bytes::mib(76), Bytes::mib(132), Bytes::mib(11)};
  card.mig = {{"1g.10gb", 16, Bytes::mib(9984), 1, 8}, {"3g.40gb", 60, Bytes::mib(40448), 4, 8}};
  card.sources["mig"] = "recorded";
  return card;
}

TEST(Mig, a_profile_at_the_end_of_a_name_is_seen) {
  for (const char* typed :
       {"h100:1g.10gb", "h100 1g.10gb", "h100 MIG 1g.10gb", "h100-mig-1g.10gb", "h100:1G.10GB", "h100 : 1g.10gb "}) {
    const auto slice = find_slice_name(typed);
    ASSERT_TRUE(slice) << typed;
    EXPECT_EQ(slice->card, "h100") << typed;
    EXPECT_EQ(slice->profile, "1g.10gb") << typed;
  }
  EXPECT_EQ(find_slice_name("NVIDIA A100-SXM4-80GB MIG 3g.40gb")->card, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(find_slice_name("h100:1c.2g.20gb")->profile, "2g.20gb");
  EXPECT_EQ(find_slice_name("NVIDIA H100 80GB HBM3 MIG 1c.2g.20gb")->card, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(find_slice_name("h100:1g.10gb+me")->profile, "1g.10gb+me");
  EXPECT_EQ(find_slice_name("rtx-pro-6000:1g.24gb+me.all")->profile, "1g.24gb+me.all");
}

TEST(Mig, other_names_are_no_slices) {
  for (const char* typed : {"h100", "1g.10gb", ":1g.10gb", "MIG 1g.10gb", "h1001g.10gb", "h100:10gb", "h100:g.10gb",
                            "h100:1g.gb", "h100:1g.10gbx", "h100:11g.10gb", "a10g.10gb", "mine.toml", ""}) {
    EXPECT_FALSE(find_slice_name(typed)) << typed;
  }
}

TEST(Mig, a_slice_is_a_card_of_the_profiles_memory_and_processors) {
  const model::Card card = h100();
  const model::Card slice = cut_slice(card, card.mig.front(), "1g.10gb");
  EXPECT_EQ(slice.key, "h100:1g.10gb");
  EXPECT_EQ(slice.name, "NVIDIA H100 80GB HBM3 MIG 1g.10gb") << "as torch.cuda.get_device_name tells it";
  EXPECT_EQ(slice.memory, Bytes::mib(9984));
  EXPECT_EQ(slice.sm_count, 16);
  EXPECT_EQ(slice.l2, Bytes::mib(6));
  EXPECT_DOUBLE_EQ(slice.bandwidth_gbps, 419);
  EXPECT_DOUBLE_EQ(*slice.rates.bf16, 989.5 * 16 / 132);
  EXPECT_EQ(slice.rates.fp8, std::nullopt) << "unknown stays unknown";
  const model::OverheadMemory& overhead = slice.overhead.at(12);
  EXPECT_LT(overhead.context_lazy, Bytes::mib(100));
  EXPECT_GT(overhead.context_lazy, Bytes::mib(31));
  EXPECT_EQ(overhead.context_eager - overhead.context_lazy, Bytes::mib(1229));
  EXPECT_EQ(overhead.kernels, Bytes::mib(16));
  EXPECT_EQ(slice.sources.at("memory"), "recorded");
  EXPECT_TRUE(slice.mig.empty());
}

TEST(Mig, a_name_finds_the_slice_of_its_card) {
  const std::vector<model::Card> cards = {h100()};
  const auto match = find_card(cards, "H100:3g.40gb");
  ASSERT_TRUE(match) << to_string(match.error());
  EXPECT_EQ(match->card.key, "h100:3g.40gb");
  EXPECT_EQ(find_card(cards, "h100 1g.10gb+me")->card.name, "NVIDIA H100 80GB HBM3 MIG 1g.10gb+me");
  const auto requests = parse_gpu_option("7xh100:1g.10gb, h100:3g.40gb:20GiB");
  ASSERT_TRUE(requests);
  EXPECT_EQ(requests->at(0), (CardRequest{7, "h100:1g.10gb", std::nullopt}));
  EXPECT_EQ(requests->at(1), (CardRequest{1, "h100:3g.40gb", Bytes::gib(20)}));
}

TEST(Mig, a_profile_that_the_card_does_not_have_is_refused_with_those_it_has) {
  const auto match = find_card({h100()}, "h100:1g.5gb");
  ASSERT_FALSE(match);
  EXPECT_EQ(match.error().remedy, "it has h100:1g.10gb, h100:3g.40gb");
  model::Card plain = h100();
  plain.mig.clear();
  EXPECT_EQ(find_card({plain}, "h100:1g.10gb").error().what, "no MIG instances of h100 are known");
}

// "A100" leaves the size open, and the profile tells it.
TEST(Mig, a_profile_chooses_among_cards_of_one_model) {
  model::Card small = h100(), large = h100();
  small.key = "a100-40gb", small.name = "NVIDIA A100-SXM4-40GB", small.memory = Bytes::mib(40441);
  large.key = "a100-80gb", large.name = "NVIDIA A100-SXM4-80GB", large.memory = Bytes::mib(81153);
  small.mig.pop_back();
  const auto match = find_card({small, large}, "A100:3g.40gb");
  ASSERT_TRUE(match) << to_string(match.error());
  EXPECT_EQ(match->card.key, "a100-80gb:3g.40gb");
}

}  // namespace
}  // namespace vramfit::devices
