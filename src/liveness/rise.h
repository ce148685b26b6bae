// Whether a series of levels, one a step, rises again and again to its end, whatever its rhythm.
//
//   level          __    floor: the least level from a step to the end. A leak raises it again and again; what is
//            /\__/      taken and given back does not, and a queue that has filled stops raising it.
//     /\____/
//   ==/            each rise is `each` bytes, `every` steps apart
#ifndef VRAMFIT_LIVENESS_RISE_H
#define VRAMFIT_LIVENESS_RISE_H

#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"

namespace vramfit::liveness {

struct Rise {
  base::Bytes per_step;    // on average
  std::int64_t every = 1;  // steps after which rises come again; without a rhythm the median, of peaks 1
  std::int64_t steps = 0;  // from the first rise to the last level judged
  double faster = 0;       // bytes by which each step adds more than the one before; 0: all add alike, or it varies
  friend bool operator==(const Rise&, const Rise&) = default;
};

// How much faster levels rise from step to step: in each quarter by more than in the one before, and by as much more.
double find_acceleration(std::span<const base::Bytes> levels);

// Fewer levels are too few to tell a rhythm.
inline constexpr std::size_t kFewestLevels = 12;

// Looks at what is left at the end of each step. The first two are its warming up: the optimizer's state, the first
// batch.
std::optional<Rise> find_rise(std::span<const base::Bytes> levels);

// One that began in the second half, where nothing had risen before: judged by what came from there on alone.
struct LateRise {
  Rise rise;
  std::size_t begins = 0;  // of the levels
};
std::optional<LateRise> find_late_rise(std::span<const base::Bytes> levels);

// Looks at the most that each step needed: the maxima of windows of the run rise from each to the next.
std::optional<Rise> find_rise_of_peaks(std::span<const base::Bytes> peaks);

}  // namespace vramfit::liveness

#endif
