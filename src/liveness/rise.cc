#include "liveness/rise.h"

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

namespace vramfit::liveness {

using base::Bytes;

namespace {

constexpr std::size_t kWarmingUp = 2;
constexpr std::size_t kWindows = 8;
constexpr std::size_t kFewestRises = 3;
constexpr std::size_t kFewestLateLevels = 24;  // fewer at the end may be anything that is made ready
constexpr std::int64_t kNoticeable = 200;      // a need that rises by less than one part in this many is steady

// The part of a series that window `index` covers.
std::span<const Bytes> window(std::span<const Bytes> series, std::size_t index) {
  const std::size_t first = index * series.size() / kWindows, last = (index + 1) * series.size() / kWindows;
  return series.subspan(first, last - first);
}

// How far most levels go up and down around a line from `first` to `last`: what a rise has to stand out from.
Bytes usual_spread(std::span<const Bytes> levels, Bytes first, Bytes last) {
  std::vector<std::int64_t> rests;
  const auto steps = static_cast<std::int64_t>(levels.size()) - 1;
  for (std::int64_t i = 0; i <= steps; ++i) {
    const Bytes line = first + Bytes((last - first).count() / steps * i);
    rests.push_back((levels[static_cast<std::size_t>(i)] - line).count());
  }
  std::ranges::sort(rests);
  const std::size_t tenth = rests.size() / 10;
  return Bytes(rests[rests.size() - 1 - tenth] - rests[tenth]);
}

std::vector<Bytes> floors_of(std::span<const Bytes> levels) {
  std::vector<Bytes> floors(levels.begin(), levels.end());
  for (std::size_t i = floors.size() - 1; i-- > 0;) floors[i] = std::min(floors[i], floors[i + 1]);
  return floors;
}

// The most steps that pass until a level comes down to its floor. What dips every 11 steps (a generator trained every
// fifth time) says nothing of its floor in between.
std::size_t longest_wait(std::span<const Bytes> levels, const std::vector<Bytes>& floors) {
  std::size_t longest = 0, last = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i] != floors[i]) continue;
    longest = std::max(longest, i - last);
    last = i;
  }
  return longest;
}

// The steps at which a floor is raised.
std::vector<std::size_t> rises_of(std::span<const Bytes> floors) {
  std::vector<std::size_t> rises;
  for (std::size_t i = 1; i < floors.size(); ++i) {
    if (floors[i] > floors[i - 1]) rises.push_back(i);
  }
  return rises;
}

// Whether rises at these steps of `count` go on to the end, and not in one stretch of the run only.
bool go_on(const std::vector<std::size_t>& rises, std::size_t count) {
  if (rises.size() < kFewestRises || rises.front() > count / 2) return false;
  std::size_t longest = 0;
  for (std::size_t i = 1; i < rises.size(); ++i) longest = std::max(longest, rises[i] - rises[i - 1]);
  return longest <= count / 2 && count - 1 - rises.back() <= std::max(2 * longest, count / 6);
}

std::int64_t usual_gap(const std::vector<std::size_t>& rises) {
  std::vector<std::size_t> gaps;
  for (std::size_t i = 1; i < rises.size(); ++i) gaps.push_back(rises[i] - rises[i - 1]);
  std::ranges::sort(gaps);
  return static_cast<std::int64_t>(gaps[gaps.size() / 2]);
}

// The least number of steps after which most rises come again. One that comes in two parts, in a step and in the next,
// has a gap of 1 and one of 9 where the rhythm is 10. 0: they have none.
std::int64_t find_rhythm(const std::vector<std::size_t>& rises) {
  const std::size_t last = rises.back();
  for (std::size_t period = 1; period <= (last - rises.front()) / 2; ++period) {
    std::size_t due = 0, come = 0;
    for (const std::size_t rise : rises) {
      if (rise + period > last) break;
      ++due;
      come += std::ranges::binary_search(rises, rise + period) ? 1 : 0;
    }
    if (due >= 2 && come * 4 >= due * 3) return static_cast<std::int64_t>(period);
  }
  return 0;
}

// The number of levels that are judged: what comes last has no future to be judged by.
std::size_t count_judged(std::span<const Bytes> levels, const std::vector<Bytes>& floors) {
  const std::size_t future = std::max(floors.size() / kWindows, longest_wait(levels, floors));
  return floors.size() - std::min(future, floors.size());
}

// Peaks that go up and down besides have no rhythm that could be told: then they rise by so much a step.
std::int64_t rhythm_of_peaks(std::span<const Bytes> peaks) {
  const std::vector<Bytes> floors = floors_of(peaks);
  const std::vector<std::size_t> rises = rises_of(std::span(floors).first(count_judged(peaks, floors)));
  return rises.size() < kFewestRises ? 1 : std::max<std::int64_t>(1, find_rhythm(rises));
}

}  // namespace

double find_acceleration(std::span<const Bytes> levels) {
  constexpr std::size_t kFewest = 32;  // with fewer a quarter is a few rises of whatever sizes
  if (levels.size() < kFewest) return 0;
  const std::size_t quarter = (levels.size() - 1) / 4;
  std::array<double, 4> risen;
  for (std::size_t i = 0; i < 4; ++i) {
    risen[i] = static_cast<double>((levels[(i + 1) * quarter] - levels[i * quarter]).count());
  }
  const std::array<double, 3> more = {risen[1] - risen[0], risen[2] - risen[1], risen[3] - risen[2]};
  const auto [least, most] = std::ranges::minmax(more);
  if (risen[0] < 0 || least <= risen[3] / 25 || most > 3 * least) return 0;
  return (risen[3] - risen[0]) / 3 / static_cast<double>(quarter * quarter);
}

std::optional<Rise> find_rise(std::span<const Bytes> levels) {
  if (levels.size() < kFewestLevels) return std::nullopt;
  levels = levels.subspan(kWarmingUp);
  const std::vector<Bytes> floors = floors_of(levels);
  const std::size_t count = count_judged(levels, floors);
  if (count < kFewestRises) return std::nullopt;
  const std::vector<std::size_t> rises = rises_of(std::span(floors).first(count));
  if (!go_on(rises, count)) return std::nullopt;
  const Bytes risen = floors[count - 1] - floors[0];
  const Bytes spread = usual_spread(levels.first(count), floors[0], floors[count - 1]);
  if (risen.count() < 2 * spread.count()) return std::nullopt;
  const auto steps = static_cast<std::int64_t>(count - 1);
  const std::int64_t rhythm = find_rhythm(rises);
  return Rise{Bytes(risen.count() / steps), rhythm > 0 ? rhythm : usual_gap(rises), steps,
              find_acceleration(std::span(floors).first(count))};
}

std::optional<LateRise> find_late_rise(std::span<const Bytes> levels) {
  if (levels.size() < 2 * kFewestLateLevels) return std::nullopt;
  const std::span<const Bytes> judged = levels.subspan(kWarmingUp);
  const std::vector<Bytes> floors = floors_of(judged);
  const auto first = std::ranges::adjacent_find(floors, std::less{});
  const auto begins = static_cast<std::size_t>(first - floors.begin());  // the last level before it rises
  // What rises from the first half of those on is no late one: find_rise judges it.
  if (begins + 1 <= count_judged(judged, floors) / 2 || floors.size() - begins < kFewestLateLevels) return std::nullopt;
  const auto rise = find_rise(levels.subspan(begins));
  if (!rise) return std::nullopt;
  const Bytes spread = usual_spread(judged.first(begins), floors.front(), floors[begins - 1]);
  if (rise->per_step.count() * rise->steps < 2 * spread.count()) return std::nullopt;
  return LateRise{*rise, begins + kWarmingUp};
}

std::optional<Rise> find_rise_of_peaks(std::span<const Bytes> peaks) {
  if (peaks.size() < 2 * kWindows + kWarmingUp) return std::nullopt;
  peaks = peaks.subspan(kWarmingUp);
  std::array<Bytes, kWindows> highest;
  for (std::size_t i = 0; i < kWindows; ++i) highest[i] = std::ranges::max(window(peaks, i));
  for (std::size_t i = 1; i < kWindows; ++i) {
    if (highest[i] <= highest[i - 1]) return std::nullopt;
  }
  const Bytes risen = highest.back() - highest.front();
  if (risen.count() * kNoticeable < highest.back().count()) return std::nullopt;
  const auto steps = static_cast<std::int64_t>(peaks.size() - peaks.size() / kWindows);
  return Rise{Bytes(risen.count() / steps), rhythm_of_peaks(peaks), steps, find_acceleration(peaks)};
}

}  // namespace vramfit::liveness
