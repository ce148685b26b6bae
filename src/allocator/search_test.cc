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

// Blocks come, grow and go; what none of them reaches is a bound like none.
ReplayProgram many_blocks_up_to(std::uint64_t largest) {
  ReplayProgram program;
  program.streams = {0};
  program.pools = {{}};
  const auto call = [&](ReplayCall::Kind kind, std::uint32_t slot, std::uint64_t bytes) {
    program.calls.push_back({.kind = kind, .slot = slot, .bytes = bytes});
    program.entry_of.push_back(static_cast<std::uint32_t>(program.entry_of.size()));
  };
  for (std::uint32_t slot = 0; slot < 200; ++slot) {
    call(ReplayCall::Kind::kAllocate, slot, largest / (1 + slot * 7 % 13));
    if (slot % 3 == 2) call(ReplayCall::Kind::kFree, slot - 1, 0);
  }
  program.slots.resize(200);
  return program;
}

TEST(SearchSettings, settings_that_are_replayed_once_are_those_that_can_not_differ) {
  const Rules rules = rules_of({2, 12});
  const auto grid = settings_grid({}, rules);
  for (const std::uint64_t largest : {3 * kMib, 15 * kMib, 29 * kMib, 30 * kMib, 33 * kMib, 90 * kMib, 600 * kMib}) {
    const ReplayProgram program = many_blocks_up_to(largest);
    for (const std::uint64_t capacity : {largest * 9, largest * 40}) {
      const ReplayOptions options{.rules = rules, .settings = {}, .capacity = capacity};
      for (const SettingsTrial& trial : search_settings(program, options, grid, {}, [](std::size_t, std::size_t) {})) {
        ReplayOptions alone = options;
        alone.settings = trial.settings;
        const ReplayRun run = replay(program, alone);
        EXPECT_EQ(trial.run.fits, run.fits) << largest << ' ' << to_string(trial.settings);
        EXPECT_EQ(trial.run.peak_reserved, run.peak_reserved) << largest << ' ' << to_string(trial.settings);
        EXPECT_EQ(trial.run.device_allocations, run.device_allocations) << largest;
        EXPECT_EQ(trial.run.retries, run.retries) << largest;
        EXPECT_EQ(trial.run.final, run.final) << largest;
        EXPECT_EQ(trial.needs, find_least_capacity(program, alone)) << largest;
      }
    }
  }
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
