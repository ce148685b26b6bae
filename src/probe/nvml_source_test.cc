#include "probe/nvml_source.h"

#include <gtest/gtest.h>

#include "probe/testing/fake_nvml.h"

namespace vramfit::probe {
namespace {

using model::Absence;
using model::Reading;
using testing::fake_driver;

constexpr std::int64_t kSecond = 1'000'000'000;

class NvmlSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fake_driver() = testing::FakeDriver();
    fake_driver().cards[0].processes = {{11, 100, 0, 0}, {12, 250, 0, 0}};
  }
  model::MachineSample look(NvmlSource& source, std::int64_t now) {
    model::MachineSample sample;
    uses_.clear();
    source.read(now, sample, uses_);
    return sample;
  }
  std::vector<ListedUse> uses_;
};

TEST_F(NvmlSourceTest, what_no_process_explains_is_told) {
  NvmlSource source(testing::fake_opener());
  const auto sample = look(source, kSecond);
  ASSERT_EQ(sample.cards.size(), 1u);
  EXPECT_EQ(sample.cards[0].used_bytes, Reading(400));
  EXPECT_EQ(sample.cards[0].reserved_bytes, Reading(50));
  EXPECT_EQ(sample.cards[0].unexplained_bytes, Reading(50));
  ASSERT_EQ(uses_.size(), 2u);
  EXPECT_EQ(uses_[1].pid, 12);
  EXPECT_EQ(uses_[1].use.card, "GPU-a");
}

TEST_F(NvmlSourceTest, an_old_library_is_asked_by_its_old_calls) {
  NvmlSource source(testing::fake_opener(testing::Age::kOld));
  const auto sample = look(source, kSecond);
  EXPECT_EQ(sample.cards[0].used_bytes, Reading(450));  // it counts the driver's own share as used
  EXPECT_EQ(sample.cards[0].reserved_bytes, Reading(Absence::kNotSupported));
  EXPECT_EQ(uses_.size(), 2u);
}

TEST_F(NvmlSourceTest, more_processes_than_expected_are_all_listed) {
  for (std::uint32_t pid = 100; pid < 300; ++pid) fake_driver().cards[0].processes.push_back({pid, 1, 0, 0});
  NvmlSource source(testing::fake_opener());
  look(source, kSecond);
  EXPECT_EQ(uses_.size(), 202u);
}

TEST_F(NvmlSourceTest, memory_that_the_driver_does_not_tell_is_no_zero) {
  fake_driver().cards[0].processes[0].used_bytes = nvml::kNoBytes;
  NvmlSource source(testing::fake_opener());
  const auto sample = look(source, kSecond);
  EXPECT_EQ(uses_[0].use.used_bytes, Reading(Absence::kNotSupported));
  EXPECT_FALSE(sample.cards[0].unexplained_bytes);
}

TEST_F(NvmlSourceTest, no_permission_leaves_the_card_and_says_why_there_are_no_processes) {
  fake_driver().cards[0].process_answer = nvml::kNoPermission;
  NvmlSource source(testing::fake_opener());
  const auto sample = look(source, kSecond);
  EXPECT_EQ(sample.cards[0].used_bytes, Reading(400));
  EXPECT_EQ(sample.cards[0].unexplained_bytes, Reading(Absence::kNoPermission));
  EXPECT_TRUE(uses_.empty());
}

TEST_F(NvmlSourceTest, what_a_card_does_not_support_is_asked_once) {
  NvmlSource source(testing::fake_opener());
  for (int i = 1; i <= 5; ++i) look(source, i * kSecond);
  EXPECT_EQ(fake_driver().cards[0].utilization_calls, 1);
}

TEST_F(NvmlSourceTest, a_lost_card_stays_in_the_list_and_comes_back) {
  fake_driver().cards.push_back({.uuid = "GPU-b"});
  NvmlSource source(testing::fake_opener());
  look(source, kSecond);
  fake_driver().cards[0].answer = nvml::kGpuIsLost;
  auto sample = look(source, 2 * kSecond);
  ASSERT_EQ(sample.cards.size(), 2u);
  EXPECT_EQ(sample.cards[0].uuid, "GPU-a");
  EXPECT_EQ(sample.cards[0].problem, "fell off the bus");
  EXPECT_EQ(sample.cards[0].used_bytes, Reading(Absence::kLost));
  EXPECT_EQ(sample.cards[1].used_bytes, Reading(400));
  fake_driver().cards[0].answer = nvml::kSuccess;
  sample = look(source, 3 * kSecond);
  EXPECT_EQ(sample.cards[0].problem, "");
  EXPECT_EQ(sample.cards[0].used_bytes, Reading(400));
}

// Its number is all that is known of a card that was lost before NVML was started anew.
TEST_F(NvmlSourceTest, a_lost_card_keeps_its_name_when_nvml_is_started_anew) {
  NvmlSource source(testing::fake_opener());
  look(source, kSecond);
  fake_driver().cards[0].answer = nvml::kGpuIsLost;
  look(source, 2 * kSecond);
  const auto sample = look(source, 20 * kSecond);
  EXPECT_EQ(fake_driver().initialisations, 2);
  ASSERT_EQ(sample.cards.size(), 1u);
  EXPECT_EQ(sample.cards[0].uuid, "GPU-a");
  EXPECT_EQ(sample.cards[0].problem, "fell off the bus");
}

TEST_F(NvmlSourceTest, a_driver_that_goes_is_tried_again_and_the_cards_are_remembered) {
  NvmlSource source(testing::fake_opener());
  look(source, kSecond);
  fake_driver().loaded = false;
  auto sample = look(source, 2 * kSecond);
  EXPECT_FALSE(sample.driver.answers);
  ASSERT_EQ(sample.cards.size(), 1u);
  EXPECT_EQ(sample.cards[0].problem, "the driver does not answer");
  EXPECT_TRUE(uses_.empty());
  fake_driver().loaded = true;
  sample = look(source, 2 * kSecond + kSecond / 2);
  EXPECT_FALSE(sample.driver.answers);  // it is not asked more often than once a second
  sample = look(source, 4 * kSecond);
  EXPECT_TRUE(sample.driver.answers);
  EXPECT_EQ(sample.cards[0].used_bytes, Reading(400));
  EXPECT_EQ(fake_driver().openings, 2);
}

TEST_F(NvmlSourceTest, nvml_is_started_once) {
  NvmlSource source(testing::fake_opener());
  for (int i = 1; i <= 100; ++i) look(source, i * kSecond);
  EXPECT_EQ(fake_driver().initialisations, 1);
}

}  // namespace
}  // namespace vramfit::probe
