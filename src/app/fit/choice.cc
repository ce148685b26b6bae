#include "app/fit/choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "app/fit/measurement.h"
#include "plan/cause.h"
#include "plan/techniques/registry.h"

namespace vramfit::app {
namespace {

using base::Result;
using model::FitGoal;
using model::FitVerdict;

// The largest share of the time left that one measuring run may take.
constexpr double kMeasuringShare = 0.12;

bool contains(const std::vector<std::string>& list, std::string_view id) {
  return std::ranges::find(list, id) != list.end();
}

// What the mildest of its options does to the training.
plan::Effect least_effect(const FitContext& fit, const plan::Technique& technique, const model::Job& job) {
  plan::Effect least = plan::Effect::kNetwork;
  for (const model::Change& change : technique.options(job, fit.target)) {
    plan::Forecast forecast = plan::start_forecast(job);
    technique.predict(job, fit.target, change, forecast);
    least = std::min(least, forecast.effect);
  }
  return least;
}

bool acts_in_any(const plan::Technique& technique, const std::vector<std::string>& phases) {
  const plan::ActsIn acts_in = technique.acts_in();
  if (phases.empty() || acts_in == plan::ActsIn::kAnyPhase) return true;
  return std::ranges::any_of(
      phases, [&](const std::string& phase) { return (phase == "train") == (acts_in == plan::ActsIn::kTraining); });
}

// Whether a plan that takes nothing from the training but rounding is foreseen among techniques that need no run of
// their own: others would come after it anyway.
bool is_foreseen_without_measuring(const FitContext& fit, const std::vector<const plan::Technique*>& techniques,
                                   const model::Job& job) {
  if (fit.request.goal != FitGoal::kSameTraining) return false;
  std::vector<const plan::Technique*> known;
  std::ranges::copy_if(techniques, std::back_inserter(known),
                       [&](const plan::Technique* one) { return one->find_all_measurable(job, fit.target).empty(); });
  plan::Target mild = fit.target;
  mild.accept = std::min(mild.accept, plan::Tier::kRounding);
  return plan::is_foreseen_to_fit(job, mild, plan::build_axes(job, mild, known));
}

// Why none of its options can be; empty where one can, or was not tried.
Result<std::string> measure_options(FitContext& fit, const plan::Technique& technique, model::Job& job,
                                    const std::filesystem::path& folder) {
  std::string obstacle;
  bool has_one = false;
  for (const model::Change& change : technique.find_all_measurable(job, fit.target)) {
    if (fit.result.free_run->wall_seconds > kMeasuringShare * fit.left()) continue;
    fit.progress.update(fmt::format("measuring {} with {} GiB", technique.describe(change), fit.plenty_gib));
    const auto seen = measure_change(fit.runner, fit.plentiful_request(), change, folder / "measured.json", job);
    if (!seen) return std::unexpected(seen.error());
    ++fit.result.runs;
    has_one = has_one || seen->obstacle.empty();
    if (obstacle.empty()) obstacle = seen->obstacle;
  }
  return has_one ? "" : obstacle;
}

}  // namespace

bool is_search_of_use(FitContext& fit, const model::Job& job) {
  fit.result.cause = plan::find_cause(job, fit.target.limit);
  if (!fit.result.cause || !fit.result.cause->is_all) return true;
  for (const plan::Technique* technique : plan::all_techniques()) {
    const bool wanted = fit.request.only.empty() || contains(fit.request.only, technique->id());
    if (!wanted || contains(fit.request.deny, technique->id()) || !technique->mends_cause(job)) continue;
    if (technique->applies_to(job, fit.target).standing == plan::Standing::kApplicable) return true;
  }
  return fit.conclude(FitVerdict::kNeedsEdit, "");
}

std::vector<const plan::Technique*> choose_techniques(FitContext& fit, const model::Job& job) {
  std::vector<const plan::Technique*> chosen;
  for (const plan::Technique* technique : plan::all_techniques()) {
    model::TechniqueRow row{std::string(technique->id()), "applicable", ""};
    const bool wanted = fit.request.only.empty() || contains(fit.request.only, technique->id());
    const plan::Applicability applicability = technique->applies_to(job, fit.target);
    row.reason = applicability.reason;
    if (!wanted || contains(fit.request.deny, technique->id())) {
      row.standing = "denied";
      row.reason = wanted ? "--deny" : "not among --only";
    } else if (!acts_in_any(*technique, fit.request.phases)) {
      row.standing = "denied";
      row.reason = fmt::format("--phase: it changes nothing in {}", fmt::join(fit.request.phases, ", "));
    } else if (applicability.standing == plan::Standing::kInForce) {
      row.standing = "in_force";
    } else if (applicability.standing == plan::Standing::kNotPossible) {
      row.standing = "not_possible";
    } else if (const plan::Effect least = least_effect(fit, *technique, job);
               plan::tier_of(least) > fit.target.accept) {
      row.standing = "denied";
      row.reason = fmt::format("--accept: it changes more than that ({})", name(least));
    } else {
      chosen.push_back(technique);
    }
    fit.result.techniques.push_back(std::move(row));
  }
  return chosen;
}

Result<void> measure(FitContext& fit, std::vector<const plan::Technique*>& techniques, model::Job& job,
                     const std::filesystem::path& folder) {
  if (fit.result.cause && fit.result.cause->is_all)
    return {};  // what puts that right comes first, and mostly is enough
  if (is_foreseen_without_measuring(fit, techniques, job)) return {};
  for (const plan::Technique* technique : std::vector(techniques)) {
    const auto obstacle = measure_options(fit, *technique, job, folder);
    if (!obstacle) return std::unexpected(obstacle.error());
    if (obstacle->empty()) continue;
    std::erase(techniques, technique);
    const auto row = std::ranges::find(fit.result.techniques, technique->id(), &model::TechniqueRow::id);
    row->standing = "not_possible";
    row->reason = *obstacle;
  }
  return {};
}

}  // namespace vramfit::app
