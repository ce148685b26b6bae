#include "app/fit/equivalence.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "plan/forecast.h"
#include "plan/promise.h"

namespace vramfit::app {
namespace {

using model::Change;
using model::Equivalence;
using model::FitResult;
using model::PlanRow;
using model::PlanStanding;
using model::Sameness;

// The only change of the plan that can make some loop train differently. Nothing: there are several, or none.
const Change* find_culprit(const model::Plan& plan) {
  const Change* culprit = nullptr;
  for (const Change& change : plan.changes) {
    const plan::Promise promise = plan::find_promise(change);
    if (promise.exact || !promise.meant.empty()) continue;
    if (culprit != nullptr) return nullptr;
    culprit = &change;
  }
  return culprit;
}

bool is_meant(const PlanRow& row) {
  return row.effect == name(plan::Effect::kOptimizer) || row.effect == name(plan::Effect::kInput) ||
         row.effect == name(plan::Effect::kNetwork);
}

void lose(PlanRow row, std::string reason, FitResult& result) {
  row.standing = PlanStanding::kTrainsElse;
  row.reason = std::move(reason);
  result.lost.push_back(std::move(row));
}

}  // namespace

bool is_exempt(const model::Plan& plan) {
  const plan::Promise promise = plan::find_promise(plan);
  // Smaller batches of an evaluation are micro-batches that accumulate nothing.
  return !plan::find_unseen(plan).empty() || promise.exact || (!promise.meant.empty() && promise.outputs == 0);
}

std::optional<Equivalence> find_known_equivalence(const PlanRow& row) {
  if (std::string why = plan::find_unseen(row.plan); !why.empty()) return not_compared(std::move(why));
  if (is_meant(row) || !is_exempt(row.plan)) return std::nullopt;
  Equivalence exact;
  exact.sameness = Sameness::kEqual;
  exact.text = "trains the same by the way it is made, whatever the loop is like";
  return exact;
}

Equivalence not_run(const PlanRow& row, std::string why) {
  return not_compared(is_meant(row) ? "it is meant to train otherwise" : std::move(why));
}

model::Plan compared_part(const model::Plan& plan) {
  if (plan::find_promise(plan).outputs == 0) return plan;
  model::Plan part = plan;
  std::erase_if(part.changes, [](const Change& change) {
    return change.technique == "micro_batch" && model::find_integer(change, "accumulate").value_or(1) == 1;
  });
  return part;
}

std::string reject_best(FitResult& result) {
  PlanRow best = std::move(result.plans.front());
  result.plans.erase(result.plans.begin());
  result.cheapest_known = false;
  const std::string name = best.plan.name;
  const Change* culprit = find_culprit(best.plan);
  const std::string technique = culprit == nullptr ? "" : culprit->technique;
  const std::string text = best.equivalence->text;
  lose(std::move(best), text, result);
  if (technique.empty()) return "";
  const auto is_like_it = [&](const PlanRow& row) { return find_change(row.plan, technique) != nullptr; };
  const auto first = std::stable_partition(result.plans.begin(), result.plans.end(), std::not_fn(is_like_it));
  for (auto row = first; row != result.plans.end(); ++row) {
    lose(std::move(*row), "has what makes " + name + " train something else", result);
  }
  result.plans.erase(first, result.plans.end());
  return technique;
}

void rule_out(const std::string& technique, FitResult& result) {
  std::string reason;
  for (const PlanRow& row : result.lost) {
    const bool is_it = row.standing == PlanStanding::kTrainsElse && find_change(row.plan, technique) != nullptr;
    if (is_it && row.equivalence && reason.empty()) reason = row.plan.name + " " + row.equivalence->text;
  }
  const auto row = std::ranges::find(result.techniques, technique, &model::TechniqueRow::id);
  if (row != result.techniques.end()) {
    row->standing = "not_possible";
    row->reason = reason;
  }
  std::erase_if(result.lost, [&](const PlanRow& lost) { return find_change(lost.plan, technique) == nullptr; });
}

void tell_what_was_compared(FitResult& result) {
  for (PlanRow& row : result.plans) {
    if (row.equivalence) continue;
    row.equivalence = find_known_equivalence(row);
    const bool is_best = &row == &result.plans.front();
    if (!row.equivalence) row.equivalence = not_run(row, is_best ? "interrupted before" : "only the best plan is");
  }
}

}  // namespace vramfit::app
