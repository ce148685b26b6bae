#include "doctor/memory_series.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace vramfit::doctor {
namespace {

MemorySeries series_of(std::initializer_list<int> mib) {
  MemorySeries series;
  for (const int value : mib) {
    series.points.push_back({{"log", 0, ""},
                             static_cast<double>(series.points.size()),
                             static_cast<double>(base::Bytes::mib(value).count())});
  }
  return series;
}

TEST(MemorySeries, a_steady_rise_grows) {
  const TrendOf trend = find_trend(series_of({1000, 1100, 1200, 1300, 1400, 1500}));
  EXPECT_EQ(trend.trend, Trend::kGrows);
  EXPECT_DOUBLE_EQ(trend.per_step, 100.0 * (1 << 20));
}

TEST(MemorySeries, a_rise_that_ends_settles) {
  EXPECT_EQ(find_trend(series_of({1000, 2500, 3000, 3000, 3000, 3000, 3001})).trend, Trend::kSettles);
}

TEST(MemorySeries, a_level_line_is_flat) {
  EXPECT_EQ(find_trend(series_of({3000, 3001, 3000, 3002, 3001})).trend, Trend::kFlat);
}

TEST(MemorySeries, a_saw_varies) {
  EXPECT_EQ(find_trend(series_of({1000, 3000, 1000, 3000, 1000, 3000, 1200})).trend, Trend::kVaries);
}

TEST(MemorySeries, one_late_jump_is_not_growth) {
  EXPECT_NE(find_trend(series_of({1000, 1000, 1000, 1000, 1000, 4000})).trend, Trend::kGrows);
}

TEST(MemorySeries, a_size_that_is_multiplied_from_reading_to_reading_is_tried) {
  const auto with_lines = [](std::initializer_list<const char*> lines) {
    MemorySeries series = series_of({310, 470, 800, 1460, 2790});
    std::size_t i = 0;
    for (const char* line : lines) series.points[i++].at.text = line;
    return series;
  };
  EXPECT_TRUE(tries_sizes(with_lines({"crop 32 needs 0.31 GB", "crop 64 needs 0.47 GB", "crop 128 needs 0.80 GB",
                                      "crop 256 needs 1.46 GB", "crop 512 needs 2.79 GB"})));
  // A counter adds the same each time; and memory that doubles is no size that somebody tries.
  EXPECT_FALSE(tries_sizes(
      with_lines({"it 10: 0.31 GB", "it 20: 0.47 GB", "it 30: 0.80 GB", "it 40: 1.46 GB", "it 50: 2.79 GB"})));
  MemorySeries doubled = series_of({100, 200, 400, 800});
  for (SeriesPoint& point : doubled.points)
    point.at.text = "used: " + std::to_string(point.amount / (1 << 20)) + " MiB";
  EXPECT_FALSE(tries_sizes(doubled));
}

// Lines of a size, a step and the memory that is series_of()'s.
MemorySeries lines_of(std::initializer_list<int> sizes, std::initializer_list<int> mib) {
  MemorySeries series = series_of(mib);
  std::size_t i = 0;
  for (const int size : sizes) {
    series.points[i].at.text = "res " + std::to_string(size) + " kimg " + std::to_string(20 * i);
    ++i;
  }
  return series;
}

TEST(MemorySeries, that_is_level_within_each_size_follows_the_size) {
  EXPECT_FALSE(
      find_rising_input(lines_of({4, 4, 8, 8, 16, 16, 32, 32}, {1100, 1100, 1300, 1300, 1900, 1900, 3300, 3300}))
          .empty());
  // Within a size it rises too; and an epoch is no size, however level its steps are.
  EXPECT_TRUE(find_rising_input(lines_of({4, 4, 8, 8, 16, 16}, {1100, 1200, 1300, 1500, 1900, 2300})).empty());
  EXPECT_TRUE(find_rising_input(lines_of({10, 10, 11, 11, 12, 12}, {1100, 1100, 1300, 1300, 1900, 1900})).empty());
}

TEST(MemorySeries, three_points_are_too_few) {
  EXPECT_EQ(find_trend(series_of({1000, 2000, 3000})).trend, Trend::kTooShort);
}

TEST(MemorySeries, steps_that_start_again_each_epoch_are_replaced_by_positions) {
  model::Evidence texts;
  for (const int step : {0, 50, 0, 50}) {
    model::TrainingLogPoint point;
    point.at = {"log", step + 1, ""};
    point.source = "mm";
    point.step = step;
    point.memory = model::exactly(base::Bytes::mib(7000));
    texts.training.push_back(point);
  }
  const auto all = find_series(texts);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].points.back().step, 3);
}

}  // namespace
}  // namespace vramfit::doctor
