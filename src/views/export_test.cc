#include "views/export.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace vramfit::views {
namespace {

using base::Bytes;
using report::exports::CounterPoint;

TEST(Export, thinning_keeps_ends_and_extremes) {
  std::vector<CounterPoint> points;
  for (int i = 0; i < 100'000; ++i) points.push_back({i, Bytes(i == 54'321 ? 1'000'000 : 500 + i % 7)});
  points[77'777].value = Bytes(1);
  const auto whole = points;
  thin(points, 1000);
  EXPECT_LE(points.size(), 1000u);
  EXPECT_GE(points.size(), 500u);
  EXPECT_EQ(points.front(), whole.front());
  EXPECT_EQ(points.back(), whole.back());
  EXPECT_TRUE(std::ranges::is_sorted(points, {}, &CounterPoint::at_ns));
  EXPECT_NE(std::ranges::find(points, whole[54'321]), points.end());
  EXPECT_NE(std::ranges::find(points, whole[77'777]), points.end());
}

TEST(Export, few_points_stay_as_they_are) {
  std::vector<CounterPoint> points = {{0, Bytes(1)}, {1, Bytes(2)}, {2, Bytes(3)}};
  const auto before = points;
  thin(points, 3);
  EXPECT_EQ(points, before);
}

TEST(Export, formats_by_word_and_by_name) {
  EXPECT_EQ(*parse_export_format("chrome"), ExportFormat::kTrace);
  EXPECT_FALSE(parse_export_format("pdf"));
  EXPECT_NE(to_string(parse_export_format("perfeto").error()).find("did you mean perfetto?"), std::string::npos);
  EXPECT_EQ(guess_export_format("a/b.csv"), ExportFormat::kCsv);
  EXPECT_EQ(guess_export_format("b.speedscope.json"), ExportFormat::kSpeedscope);
  EXPECT_EQ(guess_export_format("b.json"), ExportFormat::kTrace);
  EXPECT_FALSE(guess_export_format("csv"));
}

}  // namespace
}  // namespace vramfit::views
