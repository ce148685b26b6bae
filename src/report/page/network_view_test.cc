#include "report/page/network_view.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "report/page/network_drawing.h"
#include "report/testing/module_tables.h"

namespace vramfit::report::page {
namespace {

using testing::residual_network;

std::vector<std::string> titles(const NetworkView& view) {
  std::vector<std::string> names;
  for (const NetworkBox& box : view.boxes) {
    names.push_back(box.alike > 1 ? fmt::format("{} x{}", box.title, box.alike) : box.title);
  }
  return names;
}

std::int64_t all_bytes(const NetworkView& view) {
  std::int64_t bytes = 0;
  for (const NetworkBox& box : view.boxes) bytes += (box.activations + box.held).count();
  return bytes;
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(NetworkView, repeated_blocks_are_one_box_and_activations_join_their_layer) {
  const NetworkView view = view_network(residual_network(12), "");
  EXPECT_EQ(titles(view), (std::vector<std::string>{"input", "stem", "blocks.0 to 11 x12", "head", "output"}));
  EXPECT_EQ(view.boxes[1].class_name, "Conv2d, BN, ReLU");
  EXPECT_EQ(view.lines.size(), 4u);
  EXPECT_EQ(view.boxes[2].inside, "blocks.0");
}

TEST(NetworkView, no_byte_is_lost_in_drawing_together) {
  const model::ModuleTable table = residual_network(5);
  std::int64_t bytes = 0;
  for (const model::ModuleNode& node : table.nodes) bytes += (node.activations + node.held).count();
  EXPECT_EQ(all_bytes(view_network(table, "")), bytes);
}

TEST(NetworkView, the_inside_of_a_block_shows_where_it_comes_from_and_goes_to) {
  const NetworkView view = view_network(residual_network(3), "blocks.0");
  EXPECT_EQ(titles(view), (std::vector<std::string>{"conv", "add", "from before", "to what follows"}));
  EXPECT_EQ(view.lines.size(), 4u);
}

TEST(NetworkView, an_empty_table_is_an_empty_picture) {
  EXPECT_TRUE(view_network({}, "").boxes.empty());
  EXPECT_EQ(network_drawings({}, "1"), "");
  EXPECT_EQ(network_svg({}), "");
}

TEST(NetworkDrawing, every_box_and_line_is_drawn_with_its_numbers_beside_it) {
  const std::string html = network_drawings(residual_network(4), "7");
  EXPECT_EQ(count(html, "<figure class=\"network\">"), 2u) << "the whole, and the inside of a block";
  EXPECT_EQ(count(html, "<g class=\"node\">"), 5u + 4u);
  EXPECT_EQ(count(html, "<path class=\"flow"), 4u + 4u);
  EXPECT_EQ(count(html, "<table>"), 2u);
  EXPECT_EQ(count(html, "<desc id="), 2u);
}

TEST(NetworkDrawing, names_of_the_script_stay_text) {
  model::ModuleTable table = residual_network(2);
  for (model::ModuleRow& row : table.rows) row.class_name = "<script>alert(1)</script>";
  EXPECT_EQ(network_drawings(table, "1").find("<script>"), std::string::npos);
  EXPECT_EQ(network_svg(table).find("<script>"), std::string::npos);
}

}  // namespace
}  // namespace vramfit::report::page
