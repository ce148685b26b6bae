#include "watch/book.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "history/history.h"

namespace vramfit::watch {
namespace {

model::CardReading card(const char* uuid, const char* name, std::int64_t total, model::Reading used) {
  model::CardReading one;
  one.uuid = uuid;
  one.name = name;
  one.total_bytes = total;
  one.used_bytes = used;
  return one;
}

model::MachineSample sample(std::int64_t at_ns, model::Reading first, model::Reading second) {
  model::MachineSample one;
  one.at_unix_ns = at_ns;
  one.cards = {card("GPU-a", "RTX 3060", 12000, first), card("GPU-b", "RTX 3090", 24000, second)};
  return one;
}

TEST(WatchTotals, the_most_that_each_card_held_is_kept) {
  WatchTotals totals;
  totals.add(sample(1'000'000'000, 700, 5));
  totals.add(sample(2'000'000'000, 300, model::Absence::kLost));
  totals.add(sample(3'500'000'000, 500, 9));
  const model::RunEnd end = totals.summarize("/recordings/night.vfw");
  EXPECT_EQ(end.verdict, "recorded");
  EXPECT_EQ(end.reason, "3 samples in /recordings/night.vfw");
  EXPECT_DOUBLE_EQ(end.wall_seconds, 2.5);
  ASSERT_EQ(end.devices.size(), 2U);
  EXPECT_EQ(end.devices[0].device->count(), 700);
  EXPECT_EQ(end.devices[1].device->count(), 9);
  EXPECT_EQ(end.devices[1].total->count(), 24000);
  EXPECT_FALSE(end.devices[0].context || end.devices[0].allocated || end.devices[0].reserved) << "no watch sees these";
  const auto json = nlohmann::json::parse(end.result);
  EXPECT_EQ(json["samples"], 3);
  EXPECT_EQ(json["cards"][0]["peak_used_bytes"], 700);
}

TEST(WatchTotals, a_slice_that_appears_later_has_a_row_of_its_own) {
  WatchTotals totals;
  totals.add(sample(1, 700, 5));
  model::MachineSample more = sample(2, 700, 5);
  more.cards.push_back(card("MIG-c", "slice", 100, 3));
  totals.add(more);
  EXPECT_EQ(totals.summarize("r").devices.at(2).name, "slice");
}

class Silent : public base::ProgressSink {
 public:
  void update(std::string_view) override {}
  void say(std::string_view line) override { said = line; }
  void clear() override {}
  std::string said;
};

TEST(WatchBook, a_recording_is_a_numbered_run) {
  const auto store = std::filesystem::temp_directory_path() / ("watch-book-" + std::to_string(::getpid()) + ".db");
  ::setenv("VRAMFIT_STORE", store.c_str(), 1);
  Silent progress;
  WatchBook book = WatchBook::begin("night.vfw", "1.0", progress);
  ASSERT_GT(book.number(), 0) << progress.said;
  auto history = history::History::open();
  ASSERT_TRUE(history);
  EXPECT_EQ(history->store().find(book.number())->state, model::RunState::kRunning);
  book.add(sample(1, 700, 5));
  book.finish(progress);
  const auto run = history->store().find(book.number());
  ASSERT_TRUE(run);
  EXPECT_EQ(run->state, model::RunState::kEnded);
  EXPECT_EQ(run->start.verb, "watch");
  EXPECT_EQ(run->end.verdict, "recorded");
  EXPECT_TRUE(run->start.command.back().ends_with("/night.vfw")) << "an absolute path";
  std::filesystem::remove(store);
}

}  // namespace
}  // namespace vramfit::watch
