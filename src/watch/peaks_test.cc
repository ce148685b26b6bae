#include "watch/peaks.h"

#include <gtest/gtest.h>

#include "report/watch_peaks.h"

namespace vramfit::watch {
namespace {

using model::Reading;
constexpr std::int64_t kMib = std::int64_t{1} << 20;

model::MachineSample sample(std::int64_t own_one, std::int64_t own_two, std::int64_t foreign) {
  model::MachineSample sample;
  sample.cards.push_back({.uuid = "GPU-a",
                          .name = "Fake",
                          .index = 0,
                          .total_bytes = 1000 * kMib,
                          .used_bytes = (own_one + own_two + foreign) * kMib});
  const std::pair<std::int64_t, std::int64_t> all[] = {{1, own_one}, {2, own_two}, {9, foreign}};
  for (const auto& [pid, used] : all) {
    if (used > 0) sample.processes.push_back({.pid = pid, .uses = {{.card = "GPU-a", .used_bytes = used * kMib}}});
  }
  return sample;
}

PeakCollector collected() {
  PeakCollector collector([](const auto& process) { return process.pid < 5; });
  collector.add(sample(0, 0, 300), 0);
  collector.add(sample(100, 0, 300), 0.01);
  collector.add(sample(100, 250, 500), 0.02);
  collector.add(sample(300, 0, 100), 0.05);
  return collector;
}

TEST(WatchPeaks, only_the_commands_own_processes_count) {
  const PeakCollector collector = collected();
  const auto cards = collector.cards();
  ASSERT_EQ(cards.size(), 1u);
  EXPECT_EQ(cards[0].peak_bytes, Reading(350 * kMib));
  EXPECT_DOUBLE_EQ(cards[0].at_seconds, 0.02);
  EXPECT_EQ(cards[0].processes, 2);
  EXPECT_EQ(cards[0].card_before_bytes, Reading(300 * kMib));
  EXPECT_EQ(cards[0].card_peak_bytes, Reading(850 * kMib));
  EXPECT_EQ(collector.samples(), 4);
  EXPECT_NEAR(collector.longest_gap_seconds(), 0.03, 1e-9);
}

TEST(WatchPeaks, what_was_told_is_how_it_was_measured) {
  PeakCollector collector = collected();
  model::CommandPeaks peaks{.exit_code = 1, .wall_seconds = 0.1, .cards = collector.cards()};
  const std::string sampled = report::peaks_to_text(peaks);
  EXPECT_NE(sampled.find("ended with exit code 1"), std::string::npos);
  EXPECT_NE(sampled.find("GPU 0 Fake: peak 350 MiB of 1000 MiB, in 2 processes"), std::string::npos);
  EXPECT_NE(sampled.find("sampled every 10 ms"), std::string::npos);
  collector.set_exact("GPU-a", 400 * kMib);
  peaks.cards = collector.cards();
  const std::string exact = report::peaks_to_text(peaks);
  EXPECT_NE(exact.find("peak 400 MiB of 1000 MiB, exact"), std::string::npos);
  EXPECT_NE(exact.find("counted by the virtual card"), std::string::npos);
}

// Inside many containers the driver's pids are the host's, or it lists none.
TEST(WatchPeaks, a_driver_that_shows_no_processes_leaves_the_cards_growth) {
  PeakCollector collector([](const auto&) { return false; });
  collector.add(sample(0, 0, 300), 0);
  collector.add(sample(0, 0, 700), 0.01);
  const std::string text = report::peaks_to_text({.cards = collector.cards()});
  EXPECT_NE(text.find("grew by 400 MiB"), std::string::npos) << text;
}

TEST(WatchPeaks, no_driver_is_no_zero) {
  const std::string text = report::peaks_to_text({.driver_problem = "no NVIDIA driver"});
  EXPECT_NE(text.find("no GPU memory could be measured: no NVIDIA driver"), std::string::npos) << text;
}

}  // namespace
}  // namespace vramfit::watch
