#include "app/fit/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/fit/plan_row.h"
#include "model/number_text.h"
#include "plan/search/front.h"

namespace vramfit::app {
namespace {

using base::Bytes;
using model::FitResult;
using model::PlanRow;
using plan::Outcome;
using plan::PlanTrial;

// A technique of which no option was run alone, and why.
void add_singles_not_run(const model::Job& job, const plan::Target& target, const std::vector<plan::Axis>& axes,
                         const plan::SearchResult& found, model::FitResult& result) {
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const bool tried = std::ranges::any_of(found.trials, [&](const PlanTrial& trial) {
      return trial.candidate.changes == 1 && trial.candidate.levels[axis] > 0;
    });
    if (tried) continue;
    plan::Candidate strongest;
    strongest.levels.assign(axes.size(), 0);
    strongest.levels[axis] = static_cast<std::uint8_t>(axes[axis].options.size());
    PlanRow row = row_of(plan::explain(job, target, axes, strongest), target.limit);
    const auto is_it = [&](const plan::Foreseen& other) { return other.explained.plan.changes == row.plan.changes; };
    if (std::ranges::any_of(found.foreseen, is_it)) continue;  // it is among those that are only predicted
    row.reason = row.predicted > target.limit
                     ? fmt::format("alone it would still need about {}, {} too much", to_string(row.predicted),
                                   to_string(row.predicted - target.limit))
                 : found.ending == plan::Ending::kCheapestProven ? "not run: it costs more than the best plan"
                                                                 : "not reached in the time there was";
    result.lost.push_back(std::move(row));
  }
}

// An earlier search of this fit ran the plan and knows more about it.
bool is_lost_already(const model::Plan& plan, const model::FitResult& result) {
  return std::ranges::any_of(result.lost, [&](const PlanRow& row) { return row.plan.changes == plan.changes; });
}

void add_foreseen(const plan::SearchResult& found, Bytes limit, model::FitResult& result) {
  result.foreseen.clear();
  for (const plan::Foreseen& foreseen : found.foreseen) {
    PlanRow row = row_of(foreseen.explained, limit);
    row.reason = "not run";
    result.foreseen.push_back(std::move(row));
  }
}

// Adds the front to the answer, with the proof of each plan that was run.
void add_front(const model::Job& job, const plan::Target& target, const std::vector<plan::Axis>& axes,
               const plan::SearchResult& found, model::FitResult& result) {
  const auto candidates = plan::build_candidates(job, target, axes);
  result.front.clear();
  for (const plan::Explained& explained : plan::find_front(job, target, axes, candidates)) {
    const auto same = std::ranges::find_if(
        found.trials, [&](const PlanTrial& trial) { return trial.plan.changes == explained.plan.changes; });
    if (same != found.trials.end()) {
      result.front.push_back(row_of(*same, target.limit));
      continue;
    }
    result.front.push_back(row_of(explained, explained.outlook.needs));
  }
}

}  // namespace

void add_search(const model::Job& job, const plan::Target& target, const std::vector<plan::Axis>& axes,
                const plan::SearchResult& found, model::FitResult& result) {
  std::vector<const PlanTrial*> fitting;
  for (const PlanTrial& trial : found.trials) {
    if (trial.proof.outcome == Outcome::kFits) {
      fitting.push_back(&trial);
    } else if (!is_lost_already(trial.plan, result)) {
      result.lost.push_back(row_of(trial, target.limit));
    }
  }
  // The best plan is the cheapest, or one with more room if the cheapest is tight.
  const PlanTrial* best = found.best ? &found.trials[*found.best] : nullptr;
  std::ranges::sort(fitting, [&](const PlanTrial* a, const PlanTrial* b) {
    if ((a == best) != (b == best)) return a == best;
    return plan::Cheaper(target.goal)(a->candidate, b->candidate);
  });
  for (const PlanTrial* trial : fitting) result.plans.push_back(row_of(*trial, target.limit));
  add_singles_not_run(job, target, axes, found, result);
  add_front(job, target, axes, found, result);
  add_foreseen(found, target.limit, result);
  result.cheapest_known = found.ending == plan::Ending::kCheapestProven;
  result.candidates = found.candidates;
  result.ruled_out = found.ruled_out;
  result.only_foreseen = found.only_foreseen;
}

void add_largest_batch(const model::Job& job, const plan::Target& target, const plan::LargestBatch& found,
                       model::FitResult& result) {
  for (std::size_t i = 0; i < found.trials.size(); ++i) {
    const PlanTrial& trial = found.trials[i];
    PlanRow row = row_of(trial, target.limit);
    if (trial.proof.outcome != Outcome::kFits) {
      result.lost.push_back(std::move(row));
    } else if (found.best == i) {
      result.plans.insert(result.plans.begin(), std::move(row));
    } else {
      row.reason = "smaller";
      result.plans.push_back(std::move(row));
    }
  }
  result.cheapest_known = found.ending == plan::Ending::kCheapestProven;
  result.candidates = found.trials.size();
  result.runs += static_cast<int>(found.trials.size());
  if (!found.best) return;
  const model::Change& change = found.trials[*found.best].plan.changes.front();
  result.largest_batch = {model::find_integer(change, "batch_size").value_or(0),
                          model::find_loader(job, model::phase::kTrain)->batch_size,
                          result.cheapest_known && !found.is_all_data, found.is_all_data};
  model::LargestBatch& largest = *result.largest_batch;
  largest.is_next_near = std::ranges::any_of(found.trials, [&](const PlanTrial& trial) {
    const auto size = model::find_integer(trial.plan.changes.front(), "batch_size");
    return size == largest.size + 1 && trial.proof.outcome == Outcome::kBorderline;
  });
}

}  // namespace vramfit::app
