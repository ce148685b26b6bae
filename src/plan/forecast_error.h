// How far a forecast may be off: by how it was made, and by how far such forecasts were off before.
#ifndef VRAMFIT_PLAN_FORECAST_ERROR_H
#define VRAMFIT_PLAN_FORECAST_ERROR_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vramfit::plan {

enum class MadeBy : std::uint8_t {
  kAddedUp,       // shares of what each moment held: the job's stream of allocations could not be played
  kOwnRun,        // one change, played from the run that it had alone
  kPlayed,        // one change, played from the run of the job as it is
  kCombined,      // several changes, of which one at most had a run of its own
  kCombinedRuns,  // several changes, of which two or more had runs of their own: only one of those can be begun from
  // One change had no run of its own, which would tell: of when blocks come and go, or of their sizes.
  kUnmeasuredLives,
  kUnmeasuredSizes,
};
inline constexpr std::size_t kWaysToForecast = 7;
std::string_view name(
    MadeBy by);  // "added_up", "own_run", "played", "combined", "combined_runs", "unmeasured_lives", ...

struct OwnRuns {
  std::size_t made = 0;  // so many changes had a run of their own
  std::size_t missed_lives = 0, missed_sizes = 0;
};
// How a plan of so many changes was forecast, by their runs; it is one that is played.
MadeBy played_by(std::size_t changes, const OwnRuns& runs);

// Half-width of the interval around a forecast in which 95 % of the runs of such plans came out, as a share of the
// forecast. The figures are what `bench/forecast/errors` prints, from one half of the cases kept in
// bench/forecast; it counts on the other half how many lie within.
double error_of(MadeBy by);

// What is lowest of all that `forecast` may stand for, in the same unit.
double lowest_of(double forecast, MadeBy by);

}  // namespace vramfit::plan

#endif
