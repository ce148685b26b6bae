#include "report/page/overlay_chart.h"

#include <gtest/gtest.h>

namespace vramfit::report::page {
namespace {

using base::Bytes;

ShownRun timed_run(std::int64_t number, std::vector<std::optional<Bytes>> used) {
  ShownRun run{.stored = {.number = number, .tags = {"<b>"}}};
  run.result.emplace();
  for (std::size_t i = 0; i < used.size(); ++i) {
    run.result->timeline.push_back({.at_ns = static_cast<std::int64_t>(i) * 1'000'000'000,
                                    .device = 0,
                                    .phase = "train",
                                    .allocated = Bytes::gib(1),
                                    .reserved = Bytes::gib(2),
                                    .mark = {},
                                    .used = used[i]});
  }
  return run;
}

std::vector<std::string> paths_of(const std::string& html) {
  std::vector<std::string> paths;
  std::size_t at = html.find("overlay-still");
  while ((at = html.find("<path class=\"run-line", at)) != std::string::npos) {
    const std::size_t from = html.find("d=\"", at) + 3;
    at = html.find('"', from);
    paths.push_back(html.substr(from, at - from));
  }
  return paths;
}

TEST(OverlayChart, every_run_is_a_line_of_its_own_from_its_own_beginning) {
  const std::string html = overlay_chart(
      {timed_run(4, {Bytes::gib(3), Bytes::gib(3)}), timed_run(5, {Bytes::gib(1), Bytes::gib(4), Bytes::gib(4)})});
  const auto paths = paths_of(html);
  ASSERT_EQ(paths.size(), 2u) << html;
  for (const std::string& path : paths) EXPECT_TRUE(path.starts_with("M76.0 ")) << path;
  EXPECT_NE(html.find("run-color-0"), std::string::npos);
  EXPECT_NE(html.find("run-color-1"), std::string::npos);
  EXPECT_NE(html.find("<option value=\"used\" selected>"), std::string::npos);
  EXPECT_NE(html.find("&lt;b&gt;"), std::string::npos);
  EXPECT_EQ(html.find("<b>"), std::string::npos);
}

//  used  3 GiB ____      ____     nobody told it between the first and the third second
TEST(OverlayChart, what_a_run_does_not_tell_is_a_gap) {
  const auto used = {std::optional(Bytes::gib(3)), std::optional<Bytes>(), std::optional<Bytes>(),
                     std::optional(Bytes::gib(3)), std::optional(Bytes::gib(3))};
  const auto paths = paths_of(overlay_chart({timed_run(1, used), timed_run(2, used)}));
  ASSERT_EQ(paths.size(), 2u);
  EXPECT_EQ(std::ranges::count(paths[0], 'M'), 2) << paths[0];
  EXPECT_EQ(paths[0].find("300.0"), std::string::npos) << "the axis' own height: " << paths[0];
}

TEST(OverlayChart, the_measure_is_one_that_all_runs_tell) {
  const std::string html =
      overlay_chart({timed_run(1, {std::nullopt, std::nullopt}), timed_run(2, {Bytes::gib(3), Bytes::gib(3)})});
  EXPECT_NE(html.find("<option value=\"reserved\" selected>"), std::string::npos);
  EXPECT_NE(html.find("<option value=\"used\">"), std::string::npos);
}

TEST(OverlayChart, runs_that_cannot_be_drawn_are_named_and_one_run_is_no_overlay) {
  ShownRun without = timed_run(7, {});
  const ShownRun with = timed_run(8, {Bytes::gib(1), Bytes::gib(1)});
  EXPECT_EQ(overlay_chart({without, with}), "");
  EXPECT_NE(overlay_chart({without, with, with}).find("Without memory over time: run 7."), std::string::npos);
}

}  // namespace
}  // namespace vramfit::report::page
