#include "history/live_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "job/session.h"

namespace vramfit::history {
namespace {

using base::Bytes;
using model::LivePoint;

TEST(PointTrack, keeps_the_fullest_moment_however_long_it_gets) {
  PointTrack track(16);
  for (int i = 0; i < 10'000; ++i) track.add({.at_ms = i, .used = Bytes(i == 7777 ? 999 : i % 5)});
  EXPECT_LE(track.points().size(), 16u);
  EXPECT_GE(track.points().size(), 4u);
  EXPECT_TRUE(std::ranges::is_sorted(track.points(), {}, &LivePoint::at_ms));
  const auto most = std::ranges::max_element(track.points(), {}, &LivePoint::used);
  EXPECT_EQ(most->used, Bytes(999));
  EXPECT_EQ(most->at_ms, 7777);
}

TEST(PointTrack, below_its_limit_every_sample_is_a_point) {
  PointTrack track(16);
  for (int i = 0; i < 15; ++i) track.add({.at_ms = i, .used = Bytes(i)});
  ASSERT_EQ(track.points().size(), 15u);
  EXPECT_EQ(track.points()[3].used, Bytes(3));
}

// Watches until it is so; the limit is for a machine that is busy with other things.
template <class Condition>
bool becomes(Condition condition) {
  for (int i = 0; i < 3000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(LiveRuns, shows_the_cards_of_a_session_and_remembers_them_when_it_is_gone) {
  model::EmulatedCard card;
  card.card.name = "NVIDIA Test Card";
  card.total = Bytes::gib(8);
  card.occupied = Bytes::gib(1);
  auto session = std::make_unique<job::Session>(std::move(*job::Session::create({.cards = {card}})));
  const std::string name = session->ledger_path().filename().string().substr(std::string("vramfit.").size());
  const LiveRuns live(
      {.session_folder = session->ledger_path().parent_path(), .interval = std::chrono::milliseconds(5)});
  const auto ours = [&]() -> std::optional<model::LiveCard> {
    for (const model::LiveCard& one : live.cards_of(::getpid(), 0)) {
      if (one.session == name) return one;
    }
    return std::nullopt;
  };
  ASSERT_TRUE(becomes([&] { return ours() && ours()->points.size() > 2; }));
  EXPECT_EQ(ours()->name, "NVIDIA Test Card");
  EXPECT_EQ(ours()->used, Bytes::gib(1));
  EXPECT_EQ(ours()->total, Bytes::gib(8));
  EXPECT_TRUE(ours()->is_alive);
  EXPECT_FALSE(ours()->points.front().allocated.has_value()) << "nobody told any";
  EXPECT_TRUE(live.cards_of(1, 0).empty());
  const std::int64_t last = ours()->points.back().at_ms;
  const std::vector<model::LiveCard> later = live.cards_of(::getpid(), last);
  for (const LivePoint& point : later.back().points) EXPECT_GT(point.at_ms, last);
  session.reset();
  EXPECT_TRUE(becomes([&] { return !ours()->is_alive; }));
  EXPECT_EQ(ours()->used, Bytes::gib(1));
}

}  // namespace
}  // namespace vramfit::history
