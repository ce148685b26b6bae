#include "allocator/search.h"

#include <algorithm>

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
  for (std::size_t i = 0; i < grid.size(); ++i) {
    tell(i, grid.size());
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
