#include "app/fit/plan_row.h"

#include <fmt/format.h>

#include <algorithm>

#include "devices/time_model.h"
#include "plan/forecast_bounds.h"

namespace vramfit::app {
namespace {

using base::Bytes;
using model::FitResult;
using model::PlanRow;
using model::PlanStanding;
using plan::Outcome;

PlanStanding standing_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kFits:
      return PlanStanding::kFits;
    case Outcome::kBorderline:
      return PlanStanding::kBorderline;
    case Outcome::kOutOfMemory:
      return PlanStanding::kDoesNotFit;
    case Outcome::kRefused:
      return PlanStanding::kRefused;
    case Outcome::kTimedOut:
      return PlanStanding::kTimedOut;
    case Outcome::kFailed:
      break;
  }
  return PlanStanding::kBroke;
}

// PyTorch's allocator keeps memory while the card has room, and gives idle memory back only once it has none.
void predict(const plan::Outlook& outlook, Bytes limit, PlanRow& row) {
  row.predicted = outlook.needs;
  row.predicted_peak = plan::peak_on({outlook.needs, outlook.uses}, limit);
  const plan::Interval interval = plan::find_interval(outlook, limit);
  row.predicted_low = interval.low;
  row.predicted_high = interval.high;
  row.predicted_error = plan::error_of(outlook.made_by);
  row.predicted_by = plan::name(outlook.made_by);
}

// `factor`: of the job's own time.
void set_time(double factor, PlanRow& row) {
  const devices::Interval time = devices::interval_of_change(factor);
  row.time_factor = time.value;
  row.time_low = time.low;
  row.time_high = time.high;
}

// Why a plan that fits is not the best one.
std::string why_not_best(const PlanRow& row, const PlanRow& best) {
  if (row.effect != best.effect && row.effect == name(plan::Effect::kPrecision)) return "computes in fewer bits";
  if (row.effect != best.effect && row.effect == name(plan::Effect::kUpdates)) return "loses small updates";
  const bool keeps_results = row.effect == name(plan::Effect::kSame) || row.effect == name(plan::Effect::kRounding);
  if (!keeps_results && row.effect != best.effect) return "changes what is learned";
  if (row.retries > 0 && best.retries == 0) return "no room: PyTorch had to empty its cache";
  if (row.is_tight && !best.is_tight) return "nothing to spare";
  if (row.time_factor > best.time_factor * 1.005) return "slower";
  return row.plan.changes.size() > best.plan.changes.size() ? "more changes for nothing" : "no better";
}

}  // namespace

PlanRow row_of(const plan::Explained& explained, Bytes limit) {
  PlanRow row;
  row.plan = explained.plan;
  predict(explained.outlook, limit, row);
  row.effect = name(explained.effect);
  set_time(explained.time_factor, row);
  row.consequences = explained.consequences;
  return row;
}

PlanRow row_of(const plan::PlanTrial& trial, Bytes limit) {
  PlanRow row;
  row.plan = trial.plan;
  row.standing = standing_of(trial.proof.outcome);
  predict(trial.outlook, limit, row);
  if (trial.proof.peak_device > Bytes(0)) {
    row.proven = model::Peaks{trial.proof.peak_allocated, trial.proof.peak_reserved, trial.proof.peak_device};
  }
  row.retries = trial.proof.retries;
  row.is_tight = trial.proof.outcome == Outcome::kFits && plan::is_tight(trial.proof, limit);
  set_time(trial.candidate.time_factor, row);
  row.effect = name(trial.candidate.effect);
  row.consequences = trial.consequences;
  row.reason = why_unproven(trial.proof);
  row.wall_seconds = trial.proof.wall_seconds;
  row.patch = trial.proof.patch;
  return row;
}

std::string why_unproven(const plan::Proof& proof) {
  switch (proof.outcome) {
    case Outcome::kOutOfMemory:
      return fmt::format("ran out in {}{}{}", proof.phase.empty() ? "its run" : proof.phase,
                         proof.detail.empty() ? "" : " at " + proof.detail,
                         proof.tried > Bytes(0) ? fmt::format(", asking for {} more", to_string(proof.tried)) : "");
    case Outcome::kBorderline:
      return proof.detail.empty() ? "within the uncertainty of the context's size" : proof.detail;
    case Outcome::kRefused:
      return "refused: " + proof.detail;
    case Outcome::kFailed:
      return "the script broke: " + proof.detail;
    case Outcome::kTimedOut:
      return "not proven: " + proof.detail;
    case Outcome::kFits:
      break;
  }
  return "";
}

std::string common_wall(const FitResult& result) {
  std::string wall;
  int rows = 0;
  for (const PlanRow& row : result.lost) {
    if (row.standing != PlanStanding::kDoesNotFit) continue;
    if (rows++ > 0 && row.reason != wall) return "";
    wall = row.reason;
  }
  return rows < 2 ? "" : fmt::format("each of the {} that were run and did not fit {}", rows, wall);
}

void explain_ranks(FitResult& result) {
  for (std::size_t i = 1; i < result.plans.size(); ++i) {
    result.plans[i].reason = why_not_best(result.plans[i], result.plans.front());
  }
}

}  // namespace vramfit::app
