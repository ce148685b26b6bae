#include "app/fit/choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "app/fit/measurement.h"
#include "model/number_text.h"
#include "plan/cause.h"
#include "plan/techniques/registry.h"

namespace vramfit::app {
namespace {

using base::Result;
using model::FitGoal;
using model::FitVerdict;

// A measuring run may take at most this share of the time left.
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
  return std::ranges::any_of(phases, [&](const std::string& phase) {
    return (phase == model::phase::kTrain) == (acts_in == plan::ActsIn::kTraining);
  });
}

// Whether a plan that takes nothing from the training but rounding is foreseen among techniques that need no run of
// their own: others would come after it anyway.
bool is_foreseen_without_measuring(const FitContext& fit, const std::vector<const plan::Technique*>& techniques,
                                   const model::Job& job) {
  if (fit.request.goal != FitGoal::kSameTraining) return false;
  std::vector<const plan::Technique*> known;
  std::ranges::copy_if(techniques, std::back_inserter(known), [&](const plan::Technique* one) {
    return one->is_foretold_unmeasured() || one->find_all_measurable(job, fit.target).empty();
  });
  plan::Target mild = fit.target;
  mild.accept = std::min(mild.accept, plan::Tier::kRounding);
  return plan::is_foreseen_to_fit(job, mild, plan::build_axes(job, mild, known));
}

// A change on its own with plenty of memory.
struct Measuring {
  const plan::Technique* technique = nullptr;
  model::Change change;
  std::optional<job::RunRequest> request = std::nullopt;  // once it has begun
};

std::vector<Measuring> find_measurable(const FitContext& fit, const std::vector<const plan::Technique*>& techniques,
                                       const model::Job& job) {
  std::vector<Measuring> all;
  for (const plan::Technique* technique : techniques) {
    for (model::Change& change : technique->find_all_measurable(job, fit.target)) {
      all.push_back({technique, std::move(change)});
    }
  }
  return all;
}

Result<void> begin_measuring(FitContext& fit, Measuring& one, const std::filesystem::path& plan_file) {
  if (one.request) return {};
  auto request = prepare_measurement(fit.plentiful_request(), one.change, plan_file);
  if (!request) return std::unexpected(request.error());
  one.request = fit.runner.begin(std::move(*request));
  return {};
}

void leave_out(FitContext& fit, const plan::Technique* technique, const std::string& obstacle,
               std::vector<const plan::Technique*>& techniques) {
  std::erase(techniques, technique);
  const auto row = std::ranges::find(fit.result.techniques, technique->id(), &model::TechniqueRow::id);
  row->standing = "not_possible";
  row->reason = obstacle;
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

Result<void> measure(FitContext& fit, std::vector<const plan::Technique*>& techniques, model::Job& job,
                     const std::filesystem::path& folder) {
  if (fit.result.cause && fit.result.cause->is_all)
    return {};  // what puts that right comes first, and mostly is enough
  if (is_foreseen_without_measuring(fit, techniques, job)) return {};
  std::vector<Measuring> all = find_measurable(fit, techniques, job);
  std::map<const plan::Technique*, std::string> obstacles;  // the first of each; "": one of its options can be
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (fit.result.free_run->wall_seconds > kMeasuringShare * fit.left()) continue;
    const plan::Technique* technique = all[i].technique;
    fit.progress.update(fmt::format("measuring {} with {} GiB", technique->describe(all[i].change), fit.plenty_gib));
    for (std::size_t next = i; next < std::min(i + 2, all.size()); ++next) {  // the next one runs beside it
      const auto file = folder / fmt::format("measured-{}.json", next);
      if (auto begun = begin_measuring(fit, all[next], file); !begun) return begun;
    }
    const auto seen = measure_prepared(fit.runner, *all[i].request, all[i].change, job);
    if (!seen) return std::unexpected(seen.error());
    ++fit.result.runs;
    const auto known = obstacles.emplace(technique, seen->obstacle).first;
    if (seen->obstacle.empty()) known->second.clear();
  }
  for (const auto& [technique, obstacle] : obstacles) {
    if (!obstacle.empty()) leave_out(fit, technique, obstacle, techniques);
  }
  return {};
}

}  // namespace vramfit::app
