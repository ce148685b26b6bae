#include "plan/forecast_error.h"

#include <array>

namespace vramfit::plan {
namespace {

struct KeptError {
  MadeBy by;
  std::string_view name;
  double share;
};

// The errors in the order of MadeBy. tests/project/test_forecast_errors.py compares it with the kept cases.
constexpr std::array<KeptError, kWaysToForecast> kKeptErrors = {{
    {MadeBy::kAddedUp, "added_up", 0.32},
    {MadeBy::kOwnRun, "own_run", 0.01},
    {MadeBy::kPlayed, "played", 0.02},
    {MadeBy::kCombined, "combined", 0.04},
    {MadeBy::kCombinedRuns, "combined_runs", 0.07},
    {MadeBy::kUnmeasuredLives, "unmeasured_lives", 0.1},
    {MadeBy::kUnmeasuredSizes, "unmeasured_sizes", 0.39},
}};

const KeptError& kept_error(MadeBy by) { return kKeptErrors[static_cast<std::size_t>(by)]; }

}  // namespace

std::string_view name(MadeBy by) { return kept_error(by).name; }

MadeBy played_by(std::size_t changes, const OwnRuns& runs) {
  if (runs.missed_sizes > 0) return MadeBy::kUnmeasuredSizes;
  if (runs.missed_lives > 0) return MadeBy::kUnmeasuredLives;
  if (changes > 1) return runs.made > 1 ? MadeBy::kCombinedRuns : MadeBy::kCombined;
  return runs.made > 0 ? MadeBy::kOwnRun : MadeBy::kPlayed;
}

double error_of(MadeBy by) { return kept_error(by).share; }

double lowest_of(double forecast, MadeBy by) { return forecast * (1 - error_of(by)); }

}  // namespace vramfit::plan
