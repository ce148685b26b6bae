// What people type for a card, in shops, job files and issues, against the catalogue that ships.
#include "app/catalogue.h"

#include <gtest/gtest.h>

#include "devices/catalogue.h"
#include "ingest/cards.h"

namespace vramfit::app {
namespace {

const std::vector<model::Card>& shipped() {
  static const auto kCards = ingest::read_cards(VRAMFIT_SOURCE_DIR "/src/devices/cards.toml");
  return *kCards;
}

struct Typed {
  const char* name;
  const char* key;  // null: refused
  bool is_said = false;
};

class TypedNames : public testing::TestWithParam<Typed> {};

TEST_P(TypedNames, mean_their_card_or_are_refused) {
  const auto match = devices::find_card(shipped(), GetParam().name);
  if (GetParam().key == nullptr) {
    ASSERT_FALSE(match) << match->card.key;
    EXPECT_NE(match.error().remedy, "");
    return;
  }
  ASSERT_TRUE(match) << to_string(match.error());
  EXPECT_EQ(match->card.key, GetParam().key);
  EXPECT_EQ(match->note != "", GetParam().is_said) << match->note;
}

constexpr bool kSaid = true;

INSTANTIATE_TEST_SUITE_P(
    exact, TypedNames,
    testing::Values(Typed{"GTX 1070", "gtx1070"}, Typed{"gtx1070", "gtx1070"},
                    Typed{"GeForce GTX 1080 Ti", "gtx1080ti"}, Typed{"NVIDIA GeForce RTX 3090", "rtx3090"},
                    Typed{"RTX-3090", "rtx3090"}, Typed{"rtx 3090 24gb", "rtx3090"}, Typed{"RTX3090Ti", "rtx3090ti"},
                    Typed{"rtx4090 24 GB", "rtx4090"}, Typed{"RTX 4060 Ti 16GB", "rtx4060ti-16gb"},
                    Typed{"4060ti-8gb", "rtx4060ti-8gb", kSaid}, Typed{"NVIDIA A100-SXM4-80GB", "a100-80gb"},
                    Typed{"A100 80GB PCIe", "a100-pcie-80gb"}, Typed{"NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"},
                    Typed{"a100-40", "a100-40gb", kSaid}, Typed{"A100_40G", "a100-40gb", kSaid},
                    Typed{"Tesla V100-SXM2-32GB", "v100-32gb"}, Typed{"V100 32GB", "v100-32gb", kSaid},
                    Typed{"Tesla T4", "t4"}, Typed{"T4 16GB", "t4"}, Typed{"nvidia-tesla-t4", "t4"},
                    Typed{"H100", "h100"}, Typed{"NVIDIA H100 80GB HBM3", "h100"}, Typed{"H100 SXM5 80GB", "h100"},
                    Typed{"H100 PCIe", "h100-pcie"}, Typed{"H100 NVL 94GB", "h100-nvl"}, Typed{"H200", "h200"},
                    Typed{"H200 SXM 141GB", "h200"}, Typed{"NVIDIA B200", "b200"}, Typed{"B200 192GB", "b200"},
                    Typed{"NVIDIA GH200 480GB", "gh200"}, Typed{"L40S", "l40s"}, Typed{"L40S 48GB", "l40s"},
                    Typed{"L4 24GB", "l4"}, Typed{"A10G 24GB", "a10g"}, Typed{"A10 24GB", "a10"},
                    Typed{"Quadro RTX 8000", "quadro-rtx8000"}, Typed{"RTX A6000", "rtx-a6000"},
                    Typed{"A6000", "rtx-a6000"}, Typed{"RTX 6000 Ada Generation", "rtx-6000-ada"},
                    Typed{"RTX 6000 Ada", "rtx-6000-ada"}, Typed{"RTX PRO 6000", "rtx-pro-6000", kSaid},
                    Typed{"RTX PRO 6000 Max-Q", "rtx-pro-6000-maxq"},
                    Typed{"RTX PRO 6000 Blackwell Max-Q", "rtx-pro-6000-maxq", kSaid},
                    Typed{"RTX 3050 Ti Laptop", "rtx3050ti-laptop"}, Typed{"RTX 3050 Ti mobile", "rtx3050ti-laptop"},
                    Typed{"RTX 4060 Laptop GPU", "rtx4060-laptop"}, Typed{"rtx4060 mobile", "rtx4060-laptop"},
                    Typed{"GeForce RTX 2080 SUPER", "rtx2080super"}, Typed{"RTX 4090D", "rtx4090d"},
                    Typed{"RTX 4090 D", "rtx4090d"}, Typed{"GTX 970", "gtx970"}, Typed{"980 Ti", "gtx980ti", kSaid},
                    Typed{"GTX TITAN X", "gtxtitanx"}, Typed{"Tesla M60", "m60"}, Typed{"TITAN RTX", "titanrtx"},
                    Typed{"Titan Xp", "titanxp"}, Typed{"GTX 1060", "gtx1060-6gb", kSaid}, Typed{"P100", "p100"},
                    Typed{"RTX 3080 10GB", "rtx3080"}));

INSTANTIATE_TEST_SUITE_P(
    said, TypedNames,
    testing::Values(Typed{"3090", "rtx3090", kSaid}, Typed{"1080 Ti", "gtx1080ti", kSaid},
                    Typed{"4060 laptop", "rtx4060-laptop", kSaid}, Typed{"RTX 8000", "quadro-rtx8000", kSaid},
                    Typed{"6000 Ada", "rtx-6000-ada", kSaid}, Typed{"A100", "a100-pcie-40gb", kSaid},
                    Typed{"A100 PCIe", "a100-pcie-40gb", kSaid}, Typed{"V100", "v100-16gb", kSaid},
                    Typed{"RTX 4060 Ti", "rtx4060ti-8gb", kSaid}, Typed{"RTX 5060 Ti", "rtx5060ti-8gb", kSaid},
                    Typed{"4090", "rtx4090", kSaid}, Typed{"3080", "rtx3080", kSaid}, Typed{"3060", "rtx3060", kSaid},
                    Typed{"1060", "gtx1060-6gb", kSaid}, Typed{"4060 Ti", "rtx4060ti-8gb", kSaid},
                    Typed{"5060", "rtx5060", kSaid}, Typed{"2060", "rtx2060", kSaid}, Typed{"5090", "rtx5090", kSaid}));

INSTANTIATE_TEST_SUITE_P(
    newer_and_older, TypedNames,
    testing::Values(Typed{"RTX 5050", "rtx5050"}, Typed{"RTX 5060", "rtx5060"}, Typed{"RTX 4080 SUPER", "rtx4080super"},
                    Typed{"RTX 3060 8GB", "rtx3060-8gb"}, Typed{"RTX 3060", "rtx3060"},
                    Typed{"GTX 1060 3GB", "gtx1060-3gb"}, Typed{"GTX 1650 Ti", "gtx1650ti"},
                    Typed{"RTX 3080 Ti Laptop GPU", "rtx3080ti-laptop"}, Typed{"RTX 5080 laptop", "rtx5080-laptop"},
                    Typed{"A4500", "rtx-a4500"}, Typed{"RTX 2000 Ada", "rtx-2000-ada"}, Typed{"T1000", "t1000"},
                    Typed{"RTX PRO 5000", "rtx-pro-5000"}, Typed{"B300", "b300"}, Typed{"GB200", "gb200"},
                    Typed{"NVIDIA GB300", "gb300"}, Typed{"H800", "h800"}, Typed{"A800", "a800"}, Typed{"L20", "l20"},
                    Typed{"H20", "h20"}, Typed{"V100S", "v100s"}, Typed{"Tesla K80", "k80"}, Typed{"M40", "m40"},
                    Typed{"M40 24GB", "m40-24gb"}, Typed{"Tesla M40 24GB", "m40-24gb"}, Typed{"P4", "p4"},
                    Typed{"DGX Spark", "gb10"}, Typed{"NVIDIA GB10", "gb10"},
                    Typed{"Jetson Orin Nano", "jetson-orin-nano-8gb", kSaid}, Typed{"Jetson Thor", "jetson-agx-thor"}));

INSTANTIATE_TEST_SUITE_P(
    of_public_threads, TypedNames,
    testing::Values(Typed{"H200 NVL", "h200-nvl"}, Typed{"NVIDIA A16", "a16"}, Typed{"RTX 3050 6GB", "rtx3050-6gb"},
                    Typed{"RTX 3050", "rtx3050"}, Typed{"GTX 1650 SUPER", "gtx1650super"}, Typed{"T400", "t400"},
                    Typed{"NVIDIA T400 4GB", "t400-4gb"}, Typed{"RTX A1000", "rtx-a1000"}, Typed{"A1000", "rtx-a1000"},
                    Typed{"AGX Orin 32GB", "jetson-agx-orin-32gb"}, Typed{"Xavier NX", "jetson-xavier-nx-8gb", kSaid},
                    Typed{"Xavier NX 16GB", "jetson-xavier-nx-16gb"},
                    Typed{"AGX Xavier", "jetson-agx-xavier-32gb", kSaid}, Typed{"RTX 2060 12GB", "rtx2060-12gb"},
                    Typed{"RTX 2060", "rtx2060"}, Typed{"H200", "h200"}, Typed{"Quadro RTX 5000", "quadro-rtx5000"},
                    Typed{"GV100", "quadro-gv100"}, Typed{"RTX A5500", "rtx-a5500"}, Typed{"GTX 1050", "gtx1050"},
                    Typed{"GTX 980", "gtx980"}, Typed{"Quadro P4000", "quadro-p4000"},
                    Typed{"RTX 5070 Ti laptop", "rtx5070ti-laptop"}, Typed{"RTX 5060 Laptop GPU", "rtx5060-laptop"},
                    Typed{"RTX PRO 6000 Max-Q", "rtx-pro-6000-maxq"}, Typed{"RTX 5050 Laptop GPU", "rtx5050-laptop"},
                    Typed{"T1000 8 GB", "t1000-8gb"}, Typed{"NVIDIA T1000 8GB", "t1000-8gb"}, Typed{"b300:1g.34gb"},
                    Typed{"h20:1g.12gb"}));

INSTANTIATE_TEST_SUITE_P(laptops, TypedNames,
                         testing::Values(Typed{"laptop 5080", "rtx5080-laptop", kSaid},
                                         Typed{"laptop RTX 5080", "rtx5080-laptop"},
                                         Typed{"RTX 5080 notebook", "rtx5080-laptop"},
                                         Typed{"GeForce RTX 3080 Ti Mobile", "rtx3080ti-laptop"},
                                         Typed{"RTX 4060 laptop", "rtx4060-laptop"}, Typed{"laptop"}, Typed{"notebook"},
                                         Typed{"A100 mobile"}));

INSTANTIATE_TEST_SUITE_P(slices, TypedNames,
                         testing::Values(Typed{"h100:1g.10gb", "h100:1g.10gb"},
                                         Typed{"A100 80GB MIG 3g.40gb", "a100-80gb:3g.40gb", kSaid},
                                         Typed{"NVIDIA A100-SXM4-80GB MIG 1g.10gb", "a100-80gb:1g.10gb"},
                                         Typed{"A100 MIG 1g.10gb", "a100-pcie-40gb:1g.10gb", kSaid},
                                         Typed{"H200:1g.18gb", "h200:1g.18gb"}, Typed{"h100:1g.5gb"},
                                         Typed{"rtx4090:1g.10gb"}));

INSTANTIATE_TEST_SUITE_P(refused, TypedNames,
                         testing::Values(Typed{"B20"}, Typed{"h1"}, Typed{"H2"}, Typed{"b2"}, Typed{"A1"}, Typed{"L2"},
                                         Typed{"A100X"}, Typed{"GTX 3090"}, Typed{"RTX 1080 Ti"}, Typed{"RTX 309"},
                                         Typed{"RTX 30900"}, Typed{"RTX"}, Typed{"Tesla"}, Typed{"A"}, Typed{"100"},
                                         Typed{"RTX 6000"}, Typed{"6000"}, Typed{"RTX 4000"}, Typed{"RTX 5090 D"},
                                         Typed{"A100 20GB"}, Typed{"H100 40GB"}, Typed{"A10 80GB"},
                                         Typed{"H200 NVL 80GB"}, Typed{"MI300X"}, Typed{"GTX 1080 Tii"}, Typed{"cuda"},
                                         Typed{"cpu"}, Typed{""}, Typed{" "}, Typed{"RTX 3080 11GB"}));

TEST(Catalogue, a_card_is_shown_with_the_memory_that_was_asked_for) {
  const auto match = devices::find_card(shipped(), "h100");
  ASSERT_TRUE(match);
  EXPECT_EQ(as_chosen({match->card, std::nullopt}), match->card);
  const model::Card asked = as_chosen({match->card, base::Bytes::gib(20)});
  EXPECT_EQ(asked.memory, base::Bytes::gib(20));
  EXPECT_NE(asked.sources.at("memory").find("as asked for"), std::string::npos);
  EXPECT_TRUE(asked.mig.empty());
}

TEST(Catalogue, instances_are_together_no_larger_than_their_card) {
  for (const model::Card& card : shipped()) {
    for (const model::MigProfile& profile : card.mig) {
      EXPECT_LE(profile.memory.count() * profile.of, card.memory.count() * profile.memory_slices)
          << card.key << ':' << profile.name;
      EXPECT_LE(profile.sm_count, card.sm_count) << card.key << ':' << profile.name;
    }
  }
}

}  // namespace
}  // namespace vramfit::app
