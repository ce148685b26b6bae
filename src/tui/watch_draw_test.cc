// Screens are compared with files: src/tui/testing/screen_*.txt. VRAMFIT_WRITE_SCREENS=1 writes them anew.
#include "tui/watch_draw.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "tui/testing/samples.h"
#include "tui/watch_help.h"

namespace vramfit::tui {
namespace {

std::string joined(const CellGrid& grid) {
  std::string text;
  for (const std::string& line : grid.to_lines()) text += line + "\n";
  return text;
}

WatchHistory some_history(model::MachineSample sample, int points) {
  WatchHistory history;
  for (int i = 0; i < points; ++i) {
    for (auto& card : sample.cards) {
      if (card.used_bytes) card.used_bytes = std::int64_t{i % 24 + 1} << 30;
      if (card.gpu_percent) card.gpu_percent = i * 7 % 101;
    }
    history.add(sample);
  }
  return history;
}

WatchView view_of(const model::MachineSample& sample, const WatchState& state = {}) {
  WatchView view = build_watch_view(sample, state, {});
  view.clock = "10:28:17";  // the time zone of whoever runs this is another
  return view;
}

struct Screen {
  std::string name;
  Size size;
  bool unicode = true, large = false;
};

class WatchScreens : public ::testing::TestWithParam<Screen> {};

std::string draw(const Screen& screen, const WatchState& state = {}) {
  const auto sample = screen.large ? testing::large_machine() : testing::busy_machine();
  const Look look{.unicode = screen.unicode};
  return joined(draw_watch(view_of(sample, state), some_history(sample, 300), state, look, screen.size));
}

TEST_P(WatchScreens, looks_as_it_did) {
  const std::string text = draw(GetParam());
  const std::string path = VRAMFIT_SOURCE_DIR "/src/tui/testing/screen_" + GetParam().name + ".txt";
  if (std::getenv("VRAMFIT_WRITE_SCREENS") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str()) << path;
}

TEST_P(WatchScreens, nothing_lies_outside_and_ascii_is_ascii) {
  WatchState help{.help = true}, tree{.tree = true}, typing{.filter = "python", .typing = true};
  for (const WatchState& state : {WatchState(), help, tree, typing}) {
    std::istringstream lines(draw(GetParam(), state));
    int rows = 0;
    for (std::string line; std::getline(lines, line); ++rows) {
      EXPECT_LE(columns_of(line), GetParam().size.columns) << line;
      if (GetParam().unicode) continue;
      for (const char c : line) ASSERT_TRUE(static_cast<unsigned char>(c) < 0x80) << line;
    }
    EXPECT_LE(rows, GetParam().size.rows);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, WatchScreens,
                         ::testing::Values(Screen{"80x24", {80, 24}}, Screen{"120x40", {120, 40}},
                                           Screen{"40x10", {40, 10}}, Screen{"200x60", {200, 60}},
                                           Screen{"80x24_ascii", {80, 24}, false},
                                           Screen{"80x24_large", {80, 24}, true, true},
                                           Screen{"120x40_large", {120, 40}, true, true}),
                         [](const auto& screen) { return screen.param.name; });

TEST(WatchDraw, the_smallest_windows_are_survived) {
  const auto sample = testing::busy_machine();
  for (int columns = 1; columns < 30; columns += 3) {
    for (int rows = 1; rows < 8; ++rows) {
      const auto grid = draw_watch(view_of(sample), WatchHistory(), WatchState(), Look(), {columns, rows});
      EXPECT_LE(grid.used_rows(), rows);
    }
  }
}

TEST(WatchDraw, a_card_that_does_not_tell_is_no_card_that_holds_nothing) {
  auto sample = testing::busy_machine();
  const auto graph_of = [&](const model::Reading& used, const std::string& mark) {
    for (auto& card : sample.cards) {
      card.used_bytes = used;
      card.gpu_percent = model::Absence::kNotSupported;
    }
    WatchHistory history;
    for (int i = 0; i < 50; ++i) history.add(sample);
    const std::string text = joined(draw_watch(view_of(sample), history, {.graph = true}, Look(), {120, 60}));
    const std::size_t graph = text.find("GPU 0: memory");
    EXPECT_NE(graph, std::string::npos) << text;
    const std::size_t last = text.find("  0%", graph);
    const std::string row = text.substr(last, text.find('\n', last) - last);
    return row.find(mark + mark + mark) != std::string::npos;
  };
  EXPECT_TRUE(graph_of(model::Absence::kLost, "·"));
  EXPECT_FALSE(graph_of(0, "·"));
  EXPECT_TRUE(graph_of(std::int64_t{20} << 30, "█"));
}

TEST(WatchDraw, graphs_stand_beside_each_other_where_there_is_room) {
  const auto sample = testing::busy_machine();
  const auto titles_in_a_row = [&](int columns) {
    std::istringstream lines(joined(draw_watch(view_of(sample), some_history(sample, 300), {}, Look(), {columns, 60})));
    int most = 0;
    for (std::string line; std::getline(lines, line);) {
      int titles = 0;
      for (std::size_t at = line.find(": memory "); at != std::string::npos; at = line.find(": memory ", at + 1))
        ++titles;
      most = std::max(most, titles);
    }
    return most;
  };
  EXPECT_EQ(titles_in_a_row(120), 1);
  EXPECT_EQ(titles_in_a_row(160), 2);
  EXPECT_EQ(titles_in_a_row(400), 3) << "as many as there are cards that answer";
}

TEST(WatchDraw, a_chosen_card_has_the_only_graph_and_the_way_back_is_named) {
  const auto sample = testing::large_machine();
  const auto screen_of = [&](const WatchState& state) {
    return joined(draw_watch(view_of(sample, state), some_history(sample, 300), state, Look(), {80, 24}));
  };
  const std::string all = screen_of({}), one = screen_of({.cards = {"5"}});
  EXPECT_NE(all.find("GPU 0: memory "), std::string::npos) << all;
  EXPECT_NE(all.find("0-9 card"), std::string::npos) << all;
  EXPECT_EQ(one.find("GPU 0: memory "), std::string::npos) << one;
  EXPECT_NE(one.find("GPU 5: memory "), std::string::npos) << one;
  EXPECT_EQ(one.find("worker 0."), std::string::npos) << one;
  EXPECT_NE(one.find("worker 5.24"), std::string::npos) << one;
  EXPECT_NE(one.find("COMMAND (175 on other cards)"), std::string::npos) << one;
  EXPECT_NE(one.find("0-9 card, a all 8"), std::string::npos) << one;
  EXPECT_NE(one.find("h help"), std::string::npos) << one;
}

// The ends of bars and graphs are parts of the block that stands for memory.
bool is_part_of_a_block(std::string_view character) { return character >= "▁" && character <= "▏"; }

std::set<std::string> marks_of(const std::string& text) {
  std::set<std::string> marks;
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    const std::string mark = text.substr(at, length);
    if (lead >= 0x80 && !is_part_of_a_block(mark)) marks.insert(mark);
    at += length;
  }
  return marks;
}

TEST(WatchDraw, every_mark_on_screen_is_in_the_help_at_80_columns) {
  const std::string help = draw({"help", {80, 24}}, {.help = true});
  const std::string ascii = draw({"help", {80, 24}, false}, {.help = true});
  EXPECT_EQ(help.find("…  \n"), std::string::npos) << help;
  EXPECT_NE(help.find("this help, and back"), std::string::npos) << help;
  EXPECT_NE(help.find("a worker of the process above"), std::string::npos) << help;
  auto sample = testing::busy_machine();
  WatchHistory history = some_history(sample, 20);
  for (auto& card : sample.cards) card.used_bytes = model::Absence::kLost;
  for (int i = 0; i < 9; ++i) history.add(sample);
  std::set<std::string> seen;
  for (const WatchState& state : {WatchState(), WatchState{.tree = true}}) {
    for (const Size size : {Size{80, 24}, Size{120, 60}}) {
      seen.merge(marks_of(joined(draw_watch(view_of(testing::busy_machine(), state), history, state, Look(), size))));
    }
  }
  EXPECT_GE(seen.size(), 5u);
  for (const std::string& mark : seen) EXPECT_NE(help.find(mark), std::string::npos) << mark << "\n" << help;
  for (const std::string_view words : {"[zombie]", "[not in our /proc]", "[gone]", "2:0", "v0", "0/2", "SM", "P2",
                                       "ECC", "WHERE", "RANK", "MHz", "NVLink", " - ", "!"}) {
    EXPECT_NE((" " + help).find(words == " - " ? " -  " : words), std::string::npos) << words << "\n" << help;
  }
  for (const std::string_view mark : {" # . ", " ? ", " * ", " ~  \\ "}) {
    EXPECT_NE(ascii.find(mark), std::string::npos) << mark << "\n" << ascii;
  }
  for (const std::string& line : tui::mark_lines(true)) EXPECT_LE(columns_of(line), 78) << line;
}

TEST(WatchDraw, one_look_shows_every_card_and_process) {
  const std::string text = joined(draw_all(view_of(testing::large_machine()), {.keys = false}, 80));
  EXPECT_NE(text.find("worker 7.24"), std::string::npos);
  EXPECT_NE(text.find("worker 0.0"), std::string::npos);
  EXPECT_EQ(text.find("more"), std::string::npos);
}

}  // namespace
}  // namespace vramfit::tui
