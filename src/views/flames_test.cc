#include "views/flames.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace vramfit::views {

using base::Bytes;

namespace {

// "weights > net > conv" -> what that node itself holds
std::map<std::string, double> paths_of(const report::page::FlameFacts& flame) {
  std::map<std::string, double> paths;
  for (std::uint32_t i = 1; i < flame.tree.parent.size(); ++i) {
    std::string path;
    for (std::uint32_t node = i; node != 0; node = flame.tree.parent[node]) {
      path = flame.tree.names[flame.tree.name[node]] + (path.empty() ? "" : " > ") + path;
    }
    paths[path] = flame.bytes[i];
  }
  return paths;
}

}  // namespace

TEST(Flames, modules_are_cut_at_their_dots_and_lines_below_their_file) {
  model::RunResult result;
  result.devices = {{.index = 0}, {.index = 1}};
  result.owners_at_peak = {{"weights", "net.conv", "", 0, Bytes(10), 1},
                           {"weights", "net.head", "", 0, Bytes(20), 1},
                           {"weights", "", "", 0, Bytes(3), 1},
                           {"cached", "", "", 1, Bytes(7), 2}};
  result.lines_at_peak = {{"train.py:3 in main", 0, Bytes(30), 2}};
  const auto flames = build_flames(result);
  ASSERT_EQ(flames.size(), 3u);
  EXPECT_EQ(flames[0].by, "module");
  EXPECT_EQ(paths_of(flames[0]),
            (std::map<std::string, double>{
                {"weights", 3}, {"weights > net", 0}, {"weights > net > conv", 10}, {"weights > net > head", 20}}));
  EXPECT_EQ(flames[1].by, "line");
  EXPECT_EQ(paths_of(flames[1]),
            (std::map<std::string, double>{{"train.py", 0}, {"train.py > train.py:3 in main", 30}}));
  EXPECT_EQ(flames[2].device, 1);
  EXPECT_EQ(paths_of(flames[2]), (std::map<std::string, double>{{"cached", 7}}));
}

TEST(Flames, nothing_at_the_peak_draws_nothing) {
  model::RunResult result;
  result.devices = {{.index = 0}};
  EXPECT_TRUE(build_flames(result).empty());
}

}  // namespace vramfit::views
