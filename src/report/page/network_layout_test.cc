#include "report/page/network_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace vramfit::report::page {
namespace {

// Whether two boxes share a point.
bool overlap(const Corner& a, const BoxSize& as, const Corner& b, const BoxSize& bs) {
  return a.x < b.x + bs.width && b.x < a.x + as.width && a.y < b.y + bs.height && b.y < a.y + as.height;
}

// Whether the straight piece goes through the box's inside. Pieces between layers never meet boxes; those beside boxes
// are upright.
bool passes_through(const Corner& from, const Corner& to, const Corner& box, const BoxSize& size) {
  if (from.x != to.x) return false;
  const double top = std::min(from.y, to.y), bottom = std::max(from.y, to.y);
  return from.x > box.x && from.x < box.x + size.width && top < box.y + size.height && bottom > box.y;
}

void expect_sound(const std::vector<BoxSize>& sizes, const std::vector<Line>& lines) {
  const Layout layout = lay_out(sizes, lines);
  ASSERT_EQ(layout.boxes.size(), sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_GE(layout.boxes[i].x, 0);
    EXPECT_GE(layout.boxes[i].y, 0);
    EXPECT_LE(layout.boxes[i].x + sizes[i].width, layout.width + 1e-6);
    EXPECT_LE(layout.boxes[i].y + sizes[i].height, layout.height + 1e-6);
    for (std::size_t j = i + 1; j < sizes.size(); ++j) {
      EXPECT_FALSE(overlap(layout.boxes[i], sizes[i], layout.boxes[j], sizes[j])) << i << " and " << j;
    }
  }
  std::size_t loops = 0;
  for (const Line& line : lines) loops += line.from == line.to ? 1 : 0;
  ASSERT_EQ(layout.routes.size(), lines.size() - loops) << "every line is drawn";
  for (const Route& route : layout.routes) {
    ASSERT_GE(route.points.size(), 2u);
    for (std::size_t i = 1; i < route.points.size(); ++i) {
      const Corner &from = route.points[i - 1], &to = route.points[i];
      EXPECT_TRUE(route.is_backward ? to.y < from.y + 1e-6 : to.y > from.y - 1e-6) << "in one direction";
      for (std::size_t box = 0; box < sizes.size(); ++box) {
        EXPECT_FALSE(passes_through(from, to, layout.boxes[box], sizes[box])) << "a line through box " << box;
      }
    }
  }
}

const BoxSize kBox{180, 50};

TEST(NetworkLayout, nothing_and_a_single_box_are_pictures_too) {
  EXPECT_EQ(lay_out({}, {}).boxes.size(), 0u);
  const Layout one = lay_out({kBox}, {});
  EXPECT_EQ(one.width, 180 + 16);
  EXPECT_EQ(one.height, 50 + 16);
}

TEST(NetworkLayout, a_chain_is_one_straight_column) {
  const Layout layout = lay_out({kBox, {60, 20}, kBox}, {{0, 1}, {1, 2}});
  EXPECT_DOUBLE_EQ(layout.boxes[0].x + 90, layout.boxes[1].x + 30);
  EXPECT_LT(layout.boxes[0].y, layout.boxes[1].y);
  EXPECT_LT(layout.boxes[1].y, layout.boxes[2].y);
  EXPECT_DOUBLE_EQ(layout.routes[0].points.front().x, layout.routes[0].points.back().x);
}

TEST(NetworkLayout, a_line_past_a_layer_goes_around_its_boxes) {
  // 0 -> 1 -> 2 -> 3 and 0 -> 3
  expect_sound({kBox, kBox, kBox, kBox}, {{0, 1}, {1, 2}, {2, 3}, {0, 3}});
  const Layout layout = lay_out({kBox, kBox, kBox, kBox}, {{0, 1}, {1, 2}, {2, 3}, {0, 3}});
  EXPECT_GT(layout.routes[3].points.size(), 2u);
}

TEST(NetworkLayout, a_box_that_nothing_leads_to_lies_just_above_what_it_leads_to) {
  // 0 -> 1 -> 2 -> 3 and 4 -> 3
  const Layout layout = lay_out(std::vector<BoxSize>(5, kBox), {{0, 1}, {1, 2}, {2, 3}, {4, 3}});
  EXPECT_DOUBLE_EQ(layout.boxes[4].y, layout.boxes[2].y);
}

TEST(NetworkLayout, a_cycle_is_drawn_with_one_line_upwards) {
  const std::vector<Line> lines = {{0, 1}, {1, 2}, {2, 1}, {2, 3}, {1, 1}};
  expect_sound(std::vector<BoxSize>(4, kBox), lines);
  const Layout layout = lay_out(std::vector<BoxSize>(4, kBox), lines);
  EXPECT_EQ(std::ranges::count_if(layout.routes, &Route::is_backward), 1);
  EXPECT_TRUE(layout.routes[2].is_backward);
}

TEST(NetworkLayout, lines_that_need_not_cross_do_not) {
  // Two chains whose boxes come crosswise.
  const Layout layout = lay_out(std::vector<BoxSize>(6, kBox), {{0, 3}, {1, 2}, {2, 5}, {3, 4}});
  EXPECT_EQ(layout.boxes[0].x < layout.boxes[1].x, layout.boxes[3].x < layout.boxes[2].x);
}

TEST(NetworkLayout, any_graph_is_sound) {
  std::mt19937 random(7);
  for (int round = 0; round < 150; ++round) {
    const std::size_t count = 1 + random() % 24;
    std::vector<BoxSize> sizes;
    for (std::size_t i = 0; i < count; ++i) {
      sizes.push_back(random() % 3 == 0 ? BoxSize{70, 24} : BoxSize{180, 50});
    }
    std::vector<Line> lines;
    for (std::size_t i = 0; i < count + count / 2; ++i) lines.push_back({random() % count, random() % count});
    expect_sound(sizes, lines);
  }
}

}  // namespace
}  // namespace vramfit::report::page
