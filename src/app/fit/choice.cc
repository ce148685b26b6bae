#include "app/fit/choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "model/number_text.h"
#include "plan/cause.h"
#include "plan/techniques/registry.h"

namespace vramfit::app {
namespace {

using model::FitVerdict;

bool contains(const std::vector<std::string>& list, std::string_view id) {
  return std::ranges::find(list, id) != list.end();
}

// The effect on the training of the mildest of its options.
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
  return std::ranges::any_of(phases, [&](const std::string& phase) {
    return (phase == model::phase::kTrain) == (acts_in == plan::ActsIn::kTraining);
  });
}

}  // namespace

bool is_search_of_use(FitContext& fit, const model::Job& job) {
  fit.result.cause = plan::find_cause(job, fit.target.limit);
  if (!fit.result.cause || !fit.result.cause->is_all) return true;
  for (const plan::Technique* technique : plan::all_techniques()) {
    const bool wanted = fit.request.only.empty() || contains(fit.request.only, technique->id());
    if (!wanted || contains(fit.request.deny, technique->id()) || !technique->mends_cause(job)) continue;
    if (plan::find_applicability(*technique, job, fit.target).standing == plan::Standing::kApplicable) return true;
  }
  return fit.conclude(FitVerdict::kNeedsEdit, "");
}

std::vector<const plan::Technique*> choose_techniques(FitContext& fit, const model::Job& job) {
  std::vector<const plan::Technique*> chosen;
  for (const plan::Technique* technique : plan::all_techniques()) {
    model::TechniqueRow row{std::string(technique->id()), "applicable", ""};
    const bool wanted = fit.request.only.empty() || contains(fit.request.only, technique->id());
    const plan::Applicability applicability = plan::find_applicability(*technique, job, fit.target);
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

}  // namespace vramfit::app
