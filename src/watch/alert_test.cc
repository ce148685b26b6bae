#include "watch/alert.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

namespace vramfit::watch {
namespace {

using Quantity = AlertRule::Quantity;
constexpr std::int64_t kSecond = 1'000'000'000, kGib = std::int64_t{1} << 30;

AlertRule rule(std::string_view text) {
  const auto parsed = parse_alert(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(AlertRule());
}

TEST(WatchAlert, rules_are_read_in_every_spelling) {
  EXPECT_EQ(rule("mem>90% for 30s"),
            (AlertRule{.text = "mem>90% for 30s", .percent = true, .limit = 90, .hold_ns = 30 * kSecond}));
  EXPECT_EQ(rule("  free <= 2 GiB for 1.5 min ").hold_ns, 90 * kSecond);
  EXPECT_EQ(rule("free<=2GiB").limit, 2.0 * kGib);
  EXPECT_TRUE(rule("free<=2GiB").or_equal);
  EXPECT_EQ(rule("power>300W").limit, 300);
  EXPECT_EQ(rule("temp>85").quantity, Quantity::kTemperature);
  EXPECT_EQ(rule("lost").quantity, Quantity::kLost);
}

TEST(WatchAlert, rules_that_could_mean_two_things_are_refused) {
  for (const char* text : {"", "mem", "mem>", "mem>90", "mem>90 bananas", "speed>3", "temp>85%", "mem=90%",
                           "mem>90% for ever", "mem>-1%", "ecc>1GiB", "temp>nan", "temp>inf", "temp>85 for nan"}) {
    EXPECT_FALSE(parse_alert(text)) << text;
  }
}

TEST(WatchAlert, a_mistyped_quantity_is_told_which_was_meant) {
  EXPECT_EQ(parse_alert("mme>90%").error().what, "no quantity \"mme\"; did you mean mem?");
}

TEST(WatchAlert, durations) {
  EXPECT_EQ(parse_duration("10ms").value_or(0), kSecond / 100);
  EXPECT_EQ(parse_duration("2").value_or(0), 2 * kSecond);
  EXPECT_EQ(parse_duration("0.5 s").value_or(0), kSecond / 2);
  for (const char* text : {"", "s", "-1s", "1y", "1e30", "nan", "inf"}) EXPECT_FALSE(parse_duration(text)) << text;
}

model::MachineSample with_used(model::Reading used) {
  model::MachineSample sample;
  sample.driver.answers = true;
  sample.cards.push_back({.uuid = "GPU-a", .index = 0, .total_bytes = 10 * kGib, .used_bytes = used});
  return sample;
}

TEST(WatchAlert, it_begins_once_it_has_held_long_enough_and_again_after_a_break) {
  AlertWatch watch({rule("mem>50% for 10s")});
  EXPECT_TRUE(watch.look(with_used(6 * kGib), 0).empty());
  EXPECT_TRUE(watch.look(with_used(6 * kGib), 9 * kSecond).empty());
  auto alerts = watch.look(with_used(7 * kGib), 10 * kSecond);
  ASSERT_EQ(alerts.size(), 1u);
  EXPECT_TRUE(alerts[0].is_new);
  EXPECT_EQ(alerts[0].text, "GPU 0: mem is 70 % (mem>50% for 10s)");
  EXPECT_FALSE(watch.look(with_used(7 * kGib), 11 * kSecond).at(0).is_new);
  EXPECT_TRUE(watch.look(with_used(kGib), 12 * kSecond).empty());
  EXPECT_TRUE(watch.look(with_used(6 * kGib), 13 * kSecond).empty());
  EXPECT_TRUE(watch.look(with_used(6 * kGib), 23 * kSecond).at(0).is_new);
}

TEST(WatchAlert, an_absent_reading_neither_begins_nor_ends_it) {
  AlertWatch watch({rule("mem>50%")});
  EXPECT_TRUE(watch.look(with_used(model::Absence::kLost), 0).empty());
  EXPECT_EQ(watch.look(with_used(6 * kGib), 1).size(), 1u);
  EXPECT_EQ(watch.look(with_used(model::Absence::kLost), 2).size(), 1u);
}

TEST(WatchAlert, a_lost_card_and_a_lost_driver_are_told) {
  AlertWatch watch({rule("lost")});
  model::MachineSample sample = with_used(1);
  EXPECT_TRUE(watch.look(sample, 0).empty());
  sample.cards[0].problem = "fell off the bus";
  sample.driver.answers = false;
  const auto alerts = watch.look(sample, 1);
  ASSERT_EQ(alerts.size(), 2u);
  EXPECT_EQ(alerts[0].name, "driver");
  EXPECT_EQ(alerts[1].name, "GPU 0");
}

TEST(WatchAlert, its_command_gets_the_alert_in_its_environment) {
  const auto path = std::filesystem::path(::testing::TempDir()) / ("alert." + std::to_string(::getpid()));
  const std::string told = path.string() + ".done";
  ASSERT_TRUE(run_alert_command("printf '%s' \"$VRAMFIT_ALERT_NAME $VRAMFIT_ALERT_VALUE\" > '" + path.string() +
                                    "'; mv '" + path.string() + "' '" + told + "'",
                                {.rule = "mem>1%", .name = "GPU 0", .value = 97}));
  for (int i = 0; i < 500 && !std::filesystem::exists(told); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::ifstream file(told);
  std::string text;
  std::getline(file, text);
  EXPECT_EQ(text, "GPU 0 97");
  std::filesystem::remove(told);
  reap_alert_commands();
}

}  // namespace
}  // namespace vramfit::watch
