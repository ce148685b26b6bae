#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "views/export.h"
#include "watch/recording.h"

namespace vramfit::views {
namespace {

namespace fs = std::filesystem;
using base::Bytes;

model::MachineSample look(std::int64_t second, const model::Reading& used, bool is_there = true) {
  model::MachineSample sample{.at_unix_ns = (1'795'000'000 + second) * 1'000'000'000};
  if (!is_there) return sample;
  model::CardReading card{.uuid = "GPU-0", .name = "Fake"};
  card.total_bytes = std::int64_t{8} << 30;
  card.used_bytes = used;
  sample.cards.push_back(std::move(card));
  return sample;
}

//  second  0        1         2      3         4        5
//  used    1 GiB    no word   2 GiB  no card   no card  3 GiB
TEST(ExportWatch, where_a_card_did_not_tell_there_is_a_gap) {
  const fs::path file = fs::path(::testing::TempDir()) / ("export_watch." + std::to_string(::getpid()));
  {
    auto recorder = watch::WatchRecorder::open(file, {});
    ASSERT_TRUE(recorder) << recorder.error().what;
    const std::int64_t gib = std::int64_t{1} << 30;
    for (const auto& sample : {look(0, gib), look(1, model::Absence::kLost), look(2, 2 * gib), look(3, gib, false),
                               look(4, gib, false), look(5, 3 * gib)}) {
      ASSERT_TRUE(recorder->add(sample));
    }
  }
  const auto facts = facts_of_watch(file);
  fs::remove(file);
  ASSERT_TRUE(facts) << facts.error().what;
  ASSERT_EQ(facts->counters.size(), 1u);
  std::vector<std::pair<std::int64_t, std::optional<Bytes>>> points;
  for (const auto& point : facts->counters[0].points) points.emplace_back(point.at_ns / 1'000'000'000, point.value);
  EXPECT_EQ(points,
            (std::vector<std::pair<std::int64_t, std::optional<Bytes>>>{
                {0, Bytes::gib(1)}, {1, std::nullopt}, {2, Bytes::gib(2)}, {3, std::nullopt}, {5, Bytes::gib(3)}}));
  EXPECT_EQ(facts->cards[0].peak, Bytes::gib(3));
}

// What one recording's counter tells: seconds, and GiB where it tells.
std::vector<std::pair<std::int64_t, std::optional<Bytes>>> points_of(const std::vector<std::int64_t>& seconds) {
  const fs::path file = fs::path(::testing::TempDir()) / ("export_paused." + std::to_string(::getpid()));
  for (const std::int64_t second : seconds) {  // each as a part of its own: a recording is gone on with
    auto recorder = watch::WatchRecorder::open(file, {});
    EXPECT_TRUE(recorder && recorder->add(look(second, std::int64_t{1} << 30)));
  }
  const auto facts = facts_of_watch(file);
  fs::remove(file);
  std::vector<std::pair<std::int64_t, std::optional<Bytes>>> points;
  for (const auto& point : facts->counters[0].points) points.emplace_back(point.at_ns / 1'000'000'000, point.value);
  return points;
}

TEST(ExportWatch, the_pause_between_two_parts_is_a_gap) {
  const Bytes gib = Bytes::gib(1);
  using Told = std::vector<std::pair<std::int64_t, std::optional<Bytes>>>;
  EXPECT_EQ(points_of({0, 1, 2, 3600, 3601}),
            (Told{{0, gib}, {1, gib}, {2, gib}, {3, std::nullopt}, {3600, gib}, {3601, gib}}));
  EXPECT_EQ(points_of({0, 100, 101, 102}), (Told{{0, gib}, {1, std::nullopt}, {100, gib}, {101, gib}, {102, gib}}));
  EXPECT_EQ(points_of({0, 1, 2, 62, 122}).size(), 5u) << "a slower pace is no pause";
  EXPECT_EQ(points_of({0, 100}).size(), 2u) << "of two nobody knows the pace";
}

TEST(ExportWatch, what_could_not_be_read_is_told) {
  const fs::path file = fs::path(::testing::TempDir()) / ("export_damaged." + std::to_string(::getpid()));
  {
    auto recorder = watch::WatchRecorder::open(file, {});
    ASSERT_TRUE(recorder) << recorder.error().what;
    for (int second = 0; second < 6; ++second) ASSERT_TRUE(recorder->add(look(second, std::int64_t{1} << 30)));
  }
  EXPECT_EQ(facts_of_watch(file)->damage, "");
  fs::resize_file(file, fs::file_size(file) - 3);
  EXPECT_TRUE(facts_of_watch(file)->damage.starts_with("the recording is damaged: about 1 samples are lost"));
  fs::remove(file);
}

}  // namespace
}  // namespace vramfit::views
