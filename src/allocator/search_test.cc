#include "allocator/search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "allocator/testing/sizes.h"

namespace vramfit::allocator {
namespace {

TEST(SettingsGrid, the_own_settings_come_first_and_none_comes_twice) {
  const Rules rules = rules_of({2, 12});
  const Settings own = parse_settings("max_split_size_mb:77", rules).value();
  const auto grid = settings_grid(own, rules);
  EXPECT_EQ(grid.front(), own);
  for (std::size_t i = 0; i < grid.size(); ++i) {
    EXPECT_EQ(std::count(grid.begin(), grid.end(), grid[i]), 1) << i;
  }
}

TEST(SettingsGrid, what_a_release_lacks_is_not_tried) {
  const auto has_large_segment = [](const Settings& one) { return one.large_segment_bytes != kLargeSegmentBytes; };
  EXPECT_FALSE(std::ranges::any_of(settings_grid({}, rules_of({2, 9})), has_large_segment));
  EXPECT_TRUE(std::ranges::any_of(settings_grid({}, rules_of({2, 10})), has_large_segment));
}

TEST(SettingsGrid, a_memory_fraction_is_kept) {
  const Rules rules = rules_of({2, 12});
  const Settings own = parse_settings("per_process_memory_fraction:0.5", rules).value();
  for (const Settings& one : settings_grid(own, rules)) EXPECT_EQ(one.memory_fraction, 0.5);
}

ReplayProgram two_blocks_of(std::uint64_t bytes) {
  ReplayProgram program;
  program.streams = {0};
  program.pools = {{}};
  program.slots.resize(2);
  for (std::uint32_t slot = 0; slot < 2; ++slot) {
    program.calls.push_back({.kind = ReplayCall::Kind::kAllocate, .slot = slot, .bytes = bytes});
    program.entry_of.push_back(slot);
  }
  return program;
}

// Two blocks of 11 MiB: 24 MiB in segments of their own, 40 in pages of 20.
TEST(SearchSettings, what_needs_least_is_first_and_every_trial_is_told) {
  const Rules rules = rules_of({2, 12});
  Settings expandable;
  expandable.expandable_segments = true;
  const ReplayOptions options{.rules = rules, .settings = {}, .capacity = 64 * kMib};
  std::size_t told = 0;
  const auto trials = search_settings(two_blocks_of(11 * kMib), options, {expandable, Settings{}}, {},
                                      [&](std::size_t, std::size_t) { ++told; });
  ASSERT_EQ(trials.size(), 2U);
  EXPECT_EQ(told, 2U);
  EXPECT_FALSE(trials[0].settings.expandable_segments);
  EXPECT_EQ(trials[0].needs, 24 * kMib);
  EXPECT_EQ(trials[1].needs, 40 * kMib);
}

TEST(SearchSettings, what_does_not_fit_comes_last) {
  Settings expandable;
  expandable.expandable_segments = true;
  const ReplayOptions options{.rules = rules_of({2, 12}), .settings = {}, .capacity = 30 * kMib};
  const auto trials =
      search_settings(two_blocks_of(11 * kMib), options, {expandable, Settings{}}, {}, [](std::size_t, std::size_t) {});
  EXPECT_TRUE(trials.front().run.fits);
  EXPECT_FALSE(trials.back().run.fits);
}

}  // namespace
}  // namespace vramfit::allocator
