// Tries a grid of settings on a recorded program: which would have fitted, by how much, at what cost in driver calls.
#ifndef VRAMFIT_ALLOCATOR_SEARCH_H
#define VRAMFIT_ALLOCATOR_SEARCH_H

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "allocator/replay.h"

namespace vramfit::allocator {

struct SettingsTrial {
  Settings settings;
  ReplayRun run;
  std::optional<std::uint64_t> needs;  // least capacity; nothing when it was not looked for
};

// Settings worth a try that this release knows, `own` always the first.
std::vector<Settings> settings_grid(const Settings& own, const Rules& rules);

struct SearchLimits {
  std::uint64_t calls = 400'000'000;  // in all replays together: some twenty seconds
};

// Settings that fit come first; less memory goes before more, then fewer driver calls before more. Settings that can't
// differ on this program are replayed once. `tell` is called
// before each trial with its number and how many there are.
std::vector<SettingsTrial> search_settings(const ReplayProgram& program, const ReplayOptions& options,
                                           const std::vector<Settings>& grid, const SearchLimits& limits,
                                           const std::function<void(std::size_t, std::size_t)>& tell);

}  // namespace vramfit::allocator

#endif
