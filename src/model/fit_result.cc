#include "model/fit_result.h"

#include <algorithm>
#include <array>

namespace vramfit::model {

std::string_view to_string(FitVerdict verdict) {
  switch (verdict) {
    case FitVerdict::kFitsAlready:
      return "fits_already";
    case FitVerdict::kPlanFits:
      return "plan_fits";
    case FitVerdict::kNothingFits:
      return "nothing_fits";
    case FitVerdict::kNeedsEdit:
      return "needs_edit";
    case FitVerdict::kNotProven:
      return "not_proven";
    case FitVerdict::kOutOfTime:
      return "out_of_time";
    case FitVerdict::kInterrupted:
      return "interrupted";
    case FitVerdict::kJobFailed:
      return "job_failed";
  }
  return "unknown";
}

std::string_view to_string(PlanStanding standing) {
  switch (standing) {
    case PlanStanding::kFits:
      return "fits";
    case PlanStanding::kBorderline:
      return "borderline";
    case PlanStanding::kDoesNotFit:
      return "does_not_fit";
    case PlanStanding::kRefused:
      return "refused";
    case PlanStanding::kBroke:
      return "broke";
    case PlanStanding::kTimedOut:
      return "timed_out";
    case PlanStanding::kTrainsElse:
      return "trains_else";
    case PlanStanding::kNotRun:
      return "not_run";
  }
  return "unknown";
}

namespace {
constexpr std::array<std::string_view, 4> kGoals = {"same-training", "min-time", "min-memory", "max-batch"};
}  // namespace

std::string_view to_string(FitGoal goal) { return kGoals[static_cast<std::size_t>(goal)]; }

std::optional<FitGoal> find_goal(std::string_view name) {
  const auto found = std::ranges::find(kGoals, name);
  if (found == kGoals.end()) return std::nullopt;
  return static_cast<FitGoal>(found - kGoals.begin());
}

}  // namespace vramfit::model
