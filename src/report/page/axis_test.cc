#include "report/page/axis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <regex>

namespace vramfit::report::page {

using base::Bytes;

TEST(Axis, ticks_begin_at_zero_are_evenly_spaced_and_reach_past_the_most) {
  for (const double most : {0.003, 0.9, 1.0, 7.3, 11.76, 99.0, 12345.0}) {
    const auto ticks = round_ticks(most, 5);
    ASSERT_GE(ticks.size(), 3u) << most;
    ASSERT_LE(ticks.size(), 8u) << most;
    EXPECT_EQ(ticks.front(), 0);
    EXPECT_GE(ticks.back(), most);
    EXPECT_LT(ticks[ticks.size() - 2], most);
    for (std::size_t i = 1; i < ticks.size(); ++i) EXPECT_NEAR(ticks[i], static_cast<double>(i) * ticks[1], 1e-9);
  }
}

TEST(Axis, nothing_or_nonsense_still_makes_an_axis) {
  EXPECT_EQ(round_ticks(0, 5), (std::vector<double>{0, 1}));
  EXPECT_EQ(round_ticks(std::nan(""), 5), (std::vector<double>{0, 1}));
  EXPECT_EQ(round_ticks(-3, 5), (std::vector<double>{0, 1}));
}

TEST(Axis, bytes_are_counted_in_binary_units) {
  const auto ticks = byte_ticks(Bytes(std::int64_t{8} << 30), 4);
  EXPECT_EQ(ticks, (std::vector<Bytes>{Bytes(0), Bytes(std::int64_t{2} << 30), Bytes(std::int64_t{4} << 30),
                                       Bytes(std::int64_t{6} << 30), Bytes(std::int64_t{8} << 30)}));
  EXPECT_EQ(tick_text(ticks[1]), "2 GiB");
  EXPECT_EQ(tick_text(Bytes(512)), "512 B");
  EXPECT_EQ(tick_text(Bytes(0)), "0 B");
}

// "3.8147 GiB", "204.8 MiB" and "1.172 GiB" are no labels of an axis.
TEST(Axis, every_tick_of_bytes_is_written_exactly_and_short) {
  const std::regex round("[0-9]{1,3}(\\.(25|5|75))? (B|KiB|MiB|GiB|TiB)");
  const auto value_of = [](const std::string& text) {
    double value = std::strtod(text.c_str(), nullptr);
    for (const char* unit : {" KiB", " MiB", " GiB", " TiB"}) {
      value *= 1024;
      if (text.ends_with(unit)) return value;
    }
    return std::strtod(text.c_str(), nullptr);
  };
  for (double most = 1; most < 1e14; most *= 1.013) {
    for (int count = 2; count <= 8; ++count) {
      const auto ticks = byte_ticks(Bytes(static_cast<std::int64_t>(most)), count);
      ASSERT_GE(ticks.back().count(), static_cast<std::int64_t>(most));
      ASSERT_LE(ticks.size(), static_cast<std::size_t>(count) + 2);
      for (const Bytes tick : ticks) {
        ASSERT_TRUE(std::regex_match(tick_text(tick), round)) << tick_text(tick) << " of " << most;
        ASSERT_EQ(value_of(tick_text(tick)), static_cast<double>(tick.count())) << tick_text(tick);
      }
    }
  }
}

TEST(Axis, the_most_that_can_be_counted_still_has_an_axis) {
  EXPECT_GE(byte_ticks(Bytes(INT64_MAX), 5).size(), 2u);
  EXPECT_EQ(byte_ticks(Bytes(-5), 5).front(), Bytes(0));
}

}  // namespace vramfit::report::page
