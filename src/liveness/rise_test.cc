#include "liveness/rise.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace vramfit::liveness {
namespace {

using base::Bytes;

// One level a step: 100 MiB, and `each` more whenever `rises(step)`.
template <class Rises>
std::vector<Bytes> series(std::size_t steps, Bytes each, Rises rises) {
  std::vector<Bytes> levels;
  Bytes level = Bytes::mib(100);
  for (std::size_t step = 0; step < steps; ++step) {
    if (rises(step)) level += each;
    levels.push_back(level);
  }
  return levels;
}

TEST(Rise, a_leak_at_every_step_is_found) {
  const auto rise = find_rise(series(60, Bytes::mib(1), [](std::size_t) { return true; }));
  ASSERT_TRUE(rise);
  EXPECT_EQ(rise->per_step, Bytes::mib(1));
  EXPECT_EQ(rise->every, 1);
}

TEST(Rise, a_leak_every_fifth_step_or_once_an_epoch_is_found_with_its_rhythm) {
  for (const std::size_t period : {std::size_t{5}, std::size_t{40}}) {
    const auto rise = find_rise(series(400, Bytes::mib(3), [&](std::size_t step) { return step % period == 4; }));
    ASSERT_TRUE(rise) << period;
    EXPECT_EQ(rise->every, static_cast<std::int64_t>(period));
    EXPECT_NEAR(rise->per_step.as_mib(), 3.0 / static_cast<double>(period), 0.1) << period;
  }
}

TEST(Rise, what_comes_in_two_parts_is_told_with_its_whole_rhythm) {
  for (const std::size_t count : {std::size_t{90}, std::size_t{96}, std::size_t{100}}) {
    const auto rise =
        find_rise(series(count, Bytes::mib(1), [](std::size_t step) { return step % 10 == 0 || step % 10 == 1; }));
    ASSERT_TRUE(rise) << count;
    EXPECT_EQ(rise->every, 10) << count;
  }
}

TEST(Rise, a_queue_that_has_filled_is_no_leak) {
  EXPECT_FALSE(find_rise(series(200, Bytes::mib(1), [](std::size_t step) { return step < 64; })));
}

TEST(Rise, a_level_that_goes_up_and_down_is_none) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::vector<Bytes> levels;
    for (int step = 0; step < 120; ++step) levels.push_back(Bytes::mib(100 + static_cast<std::int64_t>(random() % 50)));
    EXPECT_FALSE(find_rise(levels)) << seed;
    EXPECT_FALSE(find_rise_of_peaks(levels)) << seed;
  }
}

TEST(Rise, few_steps_of_samples_of_random_sizes_show_none) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    std::vector<Bytes> levels;
    const std::size_t steps = 14 + seed % 30;
    while (levels.size() < steps) levels.push_back(Bytes::mib(395 + static_cast<std::int64_t>(random() % 14)));
    EXPECT_FALSE(find_rise(levels)) << seed;
  }
}

// StarGAN (yunjey/stargan): its generator is trained every fifth time, and every eleventh step ends without what the
// others leave behind; in MiB.
TEST(Rise, a_level_that_dips_now_and_then_rises_only_where_it_had_time_to_dip_again) {
  std::vector<Bytes> levels;
  for (const int mib : {1129, 1129, 1130, 1129, 1130, 1196, 1195, 1196, 1196, 835,  1195, 1194, 1195, 1195,
                        1195, 1195, 1196, 1195, 1196, 1195, 836,  1195, 1195, 1195, 1196, 1213, 1213, 1214,
                        1213, 1213, 1213, 853,  1214, 1215, 1214, 1214, 1215, 1214, 1214, 1214}) {
    levels.push_back(Bytes::mib(mib));
  }
  EXPECT_FALSE(find_rise(levels));
}

// DETR (facebookresearch/detr) on images of random sizes: what is left after each of its first steps.
TEST(Rise, a_dozen_steps_of_images_of_random_sizes_show_none) {
  std::vector<Bytes> levels;
  for (const int bytes : {422074368, 426788352, 422604288, 426327552, 413931520, 422518272, 417075200, 428226048,
                          417464832, 419982848, 419149312, 427363840}) {
    levels.emplace_back(bytes);
  }
  EXPECT_FALSE(find_rise(levels));
}

TEST(Rise, a_leak_under_levels_that_go_up_and_down_is_found) {
  std::mt19937 random(7);
  auto levels = series(400, Bytes::mib(2), [](std::size_t step) { return step % 5 == 0; });
  for (Bytes& level : levels) level += Bytes::mib(static_cast<std::int64_t>(random() % 20));
  EXPECT_TRUE(find_rise(levels));
}

TEST(Rise, the_warming_up_of_a_job_is_none) {
  EXPECT_FALSE(find_rise(series(60, Bytes::mib(500), [](std::size_t step) { return step < 2; })));
  EXPECT_FALSE(find_rise(series(60, Bytes::mib(500), [](std::size_t step) { return step == 20; })));
}

TEST(Rise, inputs_that_get_longer_raise_the_peaks) {
  const auto rise = find_rise_of_peaks(series(100, Bytes::mib(1), [](std::size_t step) { return step % 4 == 0; }));
  ASSERT_TRUE(rise);
  EXPECT_NEAR(rise->per_step.as_mib(), 0.25, 0.05);
}

TEST(Rise, peaks_that_rise_now_and_then_are_told_with_their_own_rhythm) {
  for (const std::size_t period : {std::size_t{1}, std::size_t{4}, std::size_t{10}}) {
    for (const std::size_t count : {std::size_t{90}, std::size_t{100}, std::size_t{137}}) {
      const auto peaks = series(count, Bytes::mib(3), [&](std::size_t step) { return step % period == period - 1; });
      const auto rise = find_rise_of_peaks(peaks);
      ASSERT_TRUE(rise) << period << " in " << count;
      EXPECT_EQ(rise->every, static_cast<std::int64_t>(period)) << count;
    }
  }
}

TEST(Rise, peaks_without_a_rhythm_rise_by_so_much_a_step) {
  std::mt19937 random(7);
  std::vector<Bytes> peaks;
  for (int step = 0; step < 200; ++step)
    peaks.push_back(Bytes::mib(100 + 4 * step + static_cast<std::int64_t>(random() % 60)));
  const auto rise = find_rise_of_peaks(peaks);
  ASSERT_TRUE(rise);
  EXPECT_EQ(rise->every, 1);
}

TEST(Rise, too_few_levels_say_nothing) {
  EXPECT_FALSE(find_rise(series(kFewestLevels - 1, Bytes::mib(1), [](std::size_t) { return true; })));
}

TEST(Rise, a_leak_that_begins_late_is_told_from_where_it_begins) {
  const auto levels = series(400, Bytes::mib(1), [](std::size_t step) { return step >= 300; });
  EXPECT_FALSE(find_rise(levels));
  const auto late = find_late_rise(levels);
  ASSERT_TRUE(late);
  EXPECT_NEAR(static_cast<double>(late->begins), 300, 3);
  EXPECT_EQ(late->rise.per_step, Bytes::mib(1));
}

TEST(Rise, no_beginning_lies_between_what_is_a_rise_and_what_is_a_late_one) {
  for (const std::size_t count : {60U, 90U, 91U, 200U}) {
    for (std::size_t begins = 3; begins + 30 < count; ++begins) {
      const auto levels =
          series(count, Bytes::mib(3), [&](std::size_t step) { return step >= begins && step % 3 == 0; });
      EXPECT_TRUE(find_rise(levels) || find_late_rise(levels)) << begins << " of " << count;
    }
  }
}

TEST(Rise, what_rises_late_and_stops_or_comes_and_goes_is_none) {
  EXPECT_FALSE(find_late_rise(series(400, Bytes::mib(9), [](std::size_t step) { return step == 300; })));
  EXPECT_FALSE(find_late_rise(
      series(400, Bytes::mib(1), [](std::size_t step) { return step >= 300 && step < 320; })));  // a queue that is full
  EXPECT_FALSE(find_late_rise(series(400, Bytes::mib(1), [](std::size_t step) { return step >= 385; })));
  std::mt19937 random(7);
  std::vector<Bytes> noise;
  for (int step = 0; step < 400; ++step) noise.push_back(Bytes::mib(100 + static_cast<std::int64_t>(random() % 50)));
  EXPECT_FALSE(find_late_rise(noise));
  for (std::size_t step = 300; step < 400; ++step) noise[step] += Bytes(static_cast<std::int64_t>(step - 300) << 18);
  EXPECT_FALSE(find_late_rise(noise)) << "it does not stand out";
}

}  // namespace
}  // namespace vramfit::liveness
