#include "allocator/search.h"

#include <algorithm>
#include <bit>

namespace vramfit::allocator {
namespace {

constexpr std::uint64_t kSearchedMib = 1 << 20;
constexpr std::uint64_t kBisections = 16;  // replays that find_least_capacity makes, about

std::int64_t driver_calls(const ReplayRun& run) { return run.device_allocations + run.device_frees; }

bool is_better(const SettingsTrial& a, const SettingsTrial& b) {
  if (a.run.fits != b.run.fits) return a.run.fits;
  const std::uint64_t needs_a = a.needs.value_or(static_cast<std::uint64_t>(a.run.peak_reserved));
  const std::uint64_t needs_b = b.needs.value_or(static_cast<std::uint64_t>(b.run.peak_reserved));
  if (needs_a != needs_b) return needs_a < needs_b;
  return driver_calls(a.run) < driver_calls(b.run);
}

// The largest that is ever asked for: what was there at the beginning is allocated too.
std::uint64_t largest_request(const ReplayProgram& program) {
  std::uint64_t largest = 1;
  for (const ReplayCall& call : program.calls) largest = std::max(largest, call.bytes);
  for (const StateSegment& segment : program.seed.segments) {
    for (const StateBlock& block : segment.blocks) largest = std::max(largest, block.requested);
  }
  return largest;
}

// Settings that replay as these do. A bound on splitting that no segment reaches changes nothing: a segment is that of
// small requests, or one request, which is rounded up to a power of two at the most, in whole MiB.
Settings in_effect(const Settings& settings, std::uint64_t largest) {
  constexpr std::uint64_t kNoCard = std::uint64_t{1} << 48, kRounding = 2 * kSearchedMib;
  if (settings.expandable_segments || largest >= kNoCard) return settings;
  const std::uint64_t segment = std::max(settings.large_segment_bytes, std::bit_ceil(largest) + kRounding);
  if (segment >= settings.max_split_bytes) return settings;
  const Settings plain;
  Settings same = settings;
  same.max_split_bytes = plain.max_split_bytes;
  same.max_non_split_rounding_bytes = plain.max_non_split_rounding_bytes;
  return same;
}

}  // namespace

std::vector<Settings> settings_grid(const Settings& own, const Rules& rules) {
  std::vector<Settings> grid{own};
  const auto add = [&](const Settings& settings) {
    if (std::find(grid.begin(), grid.end(), settings) == grid.end()) grid.push_back(settings);
  };
  Settings plain;
  plain.memory_fraction = own.memory_fraction;
  plain.has_memory_fraction = own.has_memory_fraction;
  add(plain);
  const std::vector<std::uint64_t> segments =
      rules.has_large_segment_setting ? std::vector<std::uint64_t>{20, 40, 64, 128} : std::vector<std::uint64_t>{20};
  for (const bool expandable : {true, false}) {
    for (const std::uint64_t segment : segments) {
      for (const std::uint32_t divisions : {0U, 2U, 4U, 8U}) {
        Settings one = plain;
        one.expandable_segments = expandable;
        one.large_segment_bytes = segment * kSearchedMib;
        one.roundup_power2_divisions.fill(divisions);
        add(one);
        // Together with expandable segments an oversize block is hardly ever whole; the two only get in each other's
        // way.
        if (expandable || segment != 20) continue;
        for (const std::uint64_t split : {32U, 64U, 128U, 256U, 512U}) {
          one.max_split_bytes = split * kSearchedMib;
          one.max_non_split_rounding_bytes = kLargeSegmentBytes;
          add(one);
          if (!rules.has_non_split_rounding_setting || split > 128) continue;
          one.max_non_split_rounding_bytes = 64 * kSearchedMib;
          add(one);
        }
      }
    }
  }
  return grid;
}

std::vector<SettingsTrial> search_settings(const ReplayProgram& program, const ReplayOptions& options,
                                           const std::vector<Settings>& grid, const SearchLimits& limits,
                                           const std::function<void(std::size_t, std::size_t)>& tell) {
  std::vector<SettingsTrial> trials;
  const std::uint64_t calls = program.calls.size() + 1;
  const bool finds_need = options.capacity.has_value() && calls * grid.size() * kBisections <= limits.calls;
  const std::uint64_t largest = largest_request(program);
  for (std::size_t i = 0; i < grid.size(); ++i) {
    tell(i, grid.size());
    const Settings effect = in_effect(grid[i], largest);
    const auto same = std::ranges::find(trials, effect,
                                        [&](const SettingsTrial& trial) { return in_effect(trial.settings, largest); });
    if (same != trials.end()) {
      SettingsTrial again = *same;
      again.settings = grid[i];
      trials.push_back(std::move(again));
      continue;
    }
    ReplayOptions one = options;
    one.settings = grid[i];
    one.is_exact = false;
    SettingsTrial trial{grid[i], replay(program, one), std::nullopt};
    if (finds_need) trial.needs = find_least_capacity(program, one);
    trials.push_back(std::move(trial));
  }
  std::stable_sort(trials.begin(), trials.end(), is_better);
  return trials;
}

}  // namespace vramfit::allocator
