#include "app/fit/fit.h"

#include <algorithm>
#include <utility>

#include "app/fit/answer.h"
#include "app/fit/best_plan_check.h"
#include "app/fit/choice.h"
#include "app/fit/context.h"
#include "app/fit/equivalence.h"
#include "app/fit/first_runs.h"
#include "app/fit/other_ways.h"
#include "app/fit/plan_row.h"
#include "app/fit/prover.h"
#include "app/fit/request.h"
#include "app/fit/summary.h"
#include "app/fit/technique_runs.h"
#include "base/interrupt.h"
#include "job/session.h"
#include "plan/search/largest_batch.h"
#include "plan/search/search.h"
#include "plan/techniques/registry.h"

namespace vramfit::app {
namespace {

using base::ErrorCode;
using base::Result;
using model::FitGoal;
using model::FitResult;
using model::FitVerdict;
using model::PlanRow;

// The largest batch may have failed later in the script; then a smaller one that ran to its end has taken its place.
void keep_exact_batch(FitResult& result) {
  if (!result.largest_batch) return;
  if (result.plans.empty()) {
    result.largest_batch.reset();
    return;
  }
  const auto size = model::find_integer(result.plans.front().plan.changes.front(), "batch_size").value_or(0);
  if (size == result.largest_batch->size) return;
  result.largest_batch = {size, result.largest_batch->own, false, false};
}

Result<void> find_batch(FitContext& fit, const model::Job& job) {
  const plan::Applicability possible = plan::effective_batch().applies_to(job, fit.target);
  if (possible.standing == plan::Standing::kNotPossible) {
    fit.conclude(FitVerdict::kNotProven, possible.reason);
    return {};
  }
  const auto session = job::Session::create({});  // only for its folder
  if (!session) return std::unexpected(session.error());
  BestPlanCheck best_plan_check(fit, session->run_folder());
  RunProver prover(fit.trial_request(), phases_to_see(job), session->run_folder(), fit.runner);
  const auto found = plan::find_largest_batch(job, fit.target, prover, fit.left(), fit.clock, fit.tell_trials());
  if (found.ending == plan::Ending::kFailed && !found.best) return std::unexpected(*found.error);
  add_largest_batch(job, fit.target, found, fit.result);
  if (found.ending != plan::Ending::kInterrupted) best_plan_check.confirm_best(/*is_compared=*/false);
  keep_exact_batch(fit.result);
  plan::SearchResult ended;
  ended.ending = found.ending;
  set_verdict(ended, /*no_techniques=*/false, fit.result);
  if (fit.result.verdict == FitVerdict::kNothingFits) fit.result.reason = "not even a batch of one sample fits";
  for (PlanRow& row : fit.result.plans) row.equivalence = find_known_equivalence(row).value_or(not_run(row, ""));
  if (!fit.result.plans.empty()) write_answer(fit.request, fit.result);
  return {};
}

struct Searched {
  std::vector<plan::Axis> axes;
  plan::SearchResult found;
};

// Searches among plans of ranks before this one, by what is known of the techniques now.
Searched search_before(FitContext& fit, plan::Rank before, bool is_last,
                       const std::vector<const plan::Technique*>& techniques, const model::Job& job,
                       BestPlanCheck& best_plan_check, plan::Prover& prover) {
  Searched searched{plan::build_axes(job, fit.target, techniques), {}};
  plan::SearchOptions options;
  options.budget_seconds = fit.left();
  options.runs_alternatives = options.doubts_forecast = fit.request.budget_is_firm;
  options.before = before;
  options.tries_hopeless = is_last;
  const auto tell = [&, told = fit.tell_trials()](const model::Plan& plan, const plan::Outlook& outlook,
                                                  std::size_t done, std::string_view stage) {
    best_plan_check.expect(plan, outlook.needs <= fit.target.limit);
    told(plan, outlook, done, stage);
  };
  searched.found = plan::search(job, fit.target, searched.axes, prover, options, fit.clock, tell);
  return searched;
}

// Cheapest first: no run measures a technique while what would come before all its plans is untried, or is foreseen to
// fit.
Result<Searched> search_by_rank(FitContext& fit, const std::vector<const plan::Technique*>& techniques,
                                const model::Job& job, TechniqueRuns& runs, BestPlanCheck& best_plan_check,
                                plan::Prover& prover) {
  using plan::Rank;
  // A plan of a later rank may be the better one by the other goals.
  if (fit.target.goal != plan::Goal::kSameTraining && runs.least_unmeasured() != Rank::kBeyondAll) {
    if (auto measured = runs.measure(Rank::kAnother); !measured) return std::unexpected(measured.error());
  }
  Rank searched = Rank::kEqual;  // plans of ranks before it were, by all that is known
  while (true) {
    const Rank unmeasured = runs.least_unmeasured();
    const bool is_last = unmeasured == Rank::kBeyondAll;
    const Rank foreseen = is_last ? unmeasured : runs.find_foreseen(searched);
    const Rank before = foreseen <= unmeasured ? runs.least_unmeasured(foreseen) : unmeasured;
    if (is_last || before > searched) {
      const auto shown = runs.show_last_uses(before);
      if (!shown) return std::unexpected(shown.error());
      if (*shown) continue;
      Searched result = search_before(fit, before, is_last, techniques, job, best_plan_check, prover);
      const bool goes_on = !result.found.best && (result.found.ending == plan::Ending::kNothingFits ||
                                                  result.found.ending == plan::Ending::kNothingProven);
      if (is_last || !goes_on) return result;
      searched = before;
      continue;
    }
    if (auto measured = runs.measure_first_needed(unmeasured); !measured) return std::unexpected(measured.error());
    searched = std::min(searched, unmeasured);
  }
}

Result<void> search_among(FitContext& fit, const std::vector<const plan::Technique*>& techniques, const model::Job& job,
                          TechniqueRuns& runs, const std::filesystem::path& folder, BestPlanCheck& best_plan_check) {
  RunProver prover(fit.trial_request(), phases_to_see(job), folder, fit.runner);
  if (const auto steps = fit.whole_steps(); steps && fit.trials_coast()) prover.expect_steps(*steps);
  const auto searched = search_by_rank(fit, techniques, job, runs, best_plan_check, best_plan_check.prove_by(prover));
  if (!searched) return std::unexpected(searched.error());
  const plan::SearchResult& found = searched->found;
  fit.result.was_interrupted |= found.ending == plan::Ending::kInterrupted;
  if (found.ending == plan::Ending::kFailed && !found.best) return std::unexpected(*found.error);
  add_search(job, fit.target, searched->axes, found, fit.result);
  if (found.ending != plan::Ending::kInterrupted) best_plan_check.check_best();
  set_verdict(found, searched->axes.empty(), fit.result);
  return {};
}

Result<void> search_plans(FitContext& fit, model::Job job) {
  const auto session = job::Session::create({});  // only for its folder, which goes with it, or with the next run
  if (!session) return std::unexpected(session.error());
  BestPlanCheck best_plan_check(fit, session->run_folder());
  auto techniques = choose_techniques(fit, job);
  TechniqueRuns runs(fit, techniques, job, session->run_folder());
  do {
    if (auto searched = search_among(fit, techniques, job, runs, session->run_folder(), best_plan_check); !searched) {
      if (searched.error().code != ErrorCode::kInterrupted) return searched;
      fit.conclude(FitVerdict::kInterrupted, "");
      return {};
    }
  } while (best_plan_check.leaves_out_culprits(techniques) || best_plan_check.looks_further());
  fit.result.runs += best_plan_check.runs();
  explain_ranks(fit.result);
  tell_what_was_compared(fit.result);
  if (!fit.result.plans.empty()) write_answer(fit.request, fit.result);
  return {};
}

Result<void> run_all(FitContext& fit) {
  if (is_card_too_small(fit)) return {};
  const auto as_is = run_as_is(fit);
  if (!as_is) return std::unexpected(as_is.error());
  if (!*as_is) return {};
  const auto job = run_free(fit);
  if (!job) return std::unexpected(job.error());
  if (!*job) return {};
  if (fit.request.goal == FitGoal::kMaxBatch) return find_batch(fit, **job);
  if (!is_search_of_use(fit, **job)) return {};
  if (auto searched = search_plans(fit, **job); !searched) return searched;
  look_at_hardware(fit, **job);
  advise(fit, **job);
  return {};
}

FitResult finish(FitContext& fit) {
  fit.progress.clear();
  fit.result.was_interrupted |= base::was_interrupted();
  if (fit.result.was_interrupted) fit.result.cheapest_known = false;
  fit.result.seconds = fit.elapsed() + fit.clock.excluded_seconds();  // as people's clocks show it
  return std::move(fit.result);
}

}  // namespace

Result<FitResult> fit(const FitRequest& request, job::Runner& runner, base::ProgressSink& progress,
                      const base::Clock& clock) {
  if (auto checked = check_request(request); !checked) return std::unexpected(checked.error());
  base::InterruptScope interrupts;
  if (auto prepared = runner.prepare(request.run, progress); !prepared) return std::unexpected(prepared.error());
  FitContext context(request, runner, progress, clock);
  if (const auto searched = run_all(context); !searched) {
    if (searched.error().code != ErrorCode::kInterrupted) return std::unexpected(searched.error());
    context.conclude(FitVerdict::kInterrupted, "");  // an answer too: what was found by then
  }
  return finish(context);
}

}  // namespace vramfit::app
