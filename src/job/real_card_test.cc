#include "job/real_card.h"

#include <gtest/gtest.h>

namespace vramfit::job {
namespace {

using base::Bytes;
using facts::CardFacts;

// What an H200 tells of itself, with a process that holds 2 GiB of it.
CardFacts h200() {
  CardFacts facts;
  facts.device = 1;
  facts.real = {
      {1, "NVIDIA H200", "GPU-00112233-4455-6677-8899-aabbccddeeff", "580.159.04", Bytes(150109880320), true}};
  facts.tells_own = true;
  facts.context = Bytes(543162368);
  facts.libraries = Bytes(121634816);
  facts.others = Bytes(9240576);
  facts.peaks = {Bytes(1323881472), Bytes(1333788672), Bytes(2007826432)};
  return facts;
}

TEST(RealCard, is_described_as_it_told_of_itself) {
  const model::DeviceResult device = describe_real_card(h200());
  EXPECT_EQ(device.index, 1);
  EXPECT_EQ(device.name, "NVIDIA H200");
  EXPECT_EQ(device.total, Bytes(150109880320));
  EXPECT_EQ(device.context, Bytes(543162368));
  EXPECT_EQ(device.libraries, Bytes(121634816));
  EXPECT_EQ(device.occupied, Bytes(9240576));
  EXPECT_EQ(device.peaks.device, Bytes(2007826432));
  EXPECT_EQ(device.context_uncertainty, Bytes(0));
  EXPECT_NE(describe_measuring(h200()).find("card 1 (driver 580.159.04)"), std::string::npos);
  EXPECT_EQ(describe_mixture(h200()), "");
}

TEST(RealCard, that_told_nothing_is_a_real_card_of_unknown_size) {
  CardFacts facts;
  facts.peaks.reserved = Bytes(300);  // nothing told of the card as a whole
  const model::DeviceResult device = describe_real_card(facts);
  EXPECT_EQ(device.name, "real card");
  EXPECT_EQ(device.total, Bytes(0));
  EXPECT_EQ(device.peaks.device, Bytes(300));
  EXPECT_EQ(describe_measuring(facts), "");
}

TEST(RealCard, says_where_what_others_hold_is_not_known) {
  CardFacts facts = h200();
  facts.tells_own = false;
  EXPECT_NE(describe_measuring(facts).find("NVML does not say what this job's processes hold"), std::string::npos);
  facts.real[0].driver.clear();
  EXPECT_NE(describe_measuring(facts).find("there is no NVML"), std::string::npos);
}

TEST(RealCard, says_where_processes_mean_different_ones_by_a_number) {
  CardFacts facts = h200();
  facts.real.push_back(facts.real[0]);
  facts.real[1].uuid = "GPU-0";
  EXPECT_NE(describe_mixture(facts).find("(GPU-00112233-4455-6677-8899-aabbccddeeff, GPU-0)"), std::string::npos);
}

}  // namespace
}  // namespace vramfit::job
