#include "app/fit/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/fit/prover.h"
#include "job/run_on.h"
#include "plan/forecast_bounds.h"

namespace vramfit::app {
namespace {

using base::Bytes;
using model::FitGoal;
using model::FitVerdict;

// More than any card has. It costs nothing: memory of a virtual card takes host memory only where it is touched.
constexpr std::int64_t kFreeRunGib = 512;

// A candidate may take these seconds and in addition so many times what the run with plenty of memory took.
constexpr double kShortestLimit = 10;
constexpr double kLimitFactor = 3;
// A search makes about this many runs before it has its answer and a few more to choose from.
constexpr double kBudgetInRuns = 15;

double own_seconds(const model::RunResult& run) { return run.wall_seconds - run.waited_seconds; }

}  // namespace

Bytes limit_of(const job::CardChoice& card) { return card.total.value_or(card.card.memory); }

FitContext::FitContext(const FitRequest& asked, job::Runner& own_runner, base::ProgressSink& sink,
                       const base::Clock& own_clock)
    : request(asked),
      progress(sink),
      clock(own_clock),
      runner(own_runner, clock, !asked.budget_is_firm),
      started_ns(own_clock.now_ns()),
      span(job::span_of(asked.run)),
      plenty_gib(kFreeRunGib) {
  target.keep_effective_batch = request.keep_effective_batch && request.goal != FitGoal::kMaxBatch;
  target.accept = request.accept;
  target.max_slowdown = request.max_slowdown;
  if (request.goal == FitGoal::kMinTime) target.goal = plan::Goal::kMinTime;
  if (request.goal == FitGoal::kMinMemory) target.goal = plan::Goal::kMinMemory;
  result.goal = request.goal;
  result.cards = static_cast<int>(request.run.cards.size());
  result.budget_seconds = request.budget_seconds;
  aim_at(0);
}

void FitContext::stretch_budget() {
  if (request.budget_is_firm) return;
  result.budget_seconds = std::max(request.budget_seconds, elapsed() + kBudgetInRuns * result.free_run->wall_seconds) +
                          kWholeRunFactor * span.answer_seconds();
}

bool FitContext::is_out_of_time(const model::RunResult& run) const {
  return request.budget_is_firm && run.timed_out && left() <= 0;
}

void FitContext::aim_at(int card) {
  const job::CardChoice& choice = request.run.cards[static_cast<std::size_t>(card)];
  target.card = choice.card;
  target.limit = limit_of(choice);
  result.card = choice.card.name;
  result.card_index = card;
  result.limit = target.limit;
}

job::RunRequest FitContext::quiet_request() const {
  job::RunRequest quiet = request.run;
  quiet.plan.reset();
  quiet.quiet_child = true;
  if (quiet.steps == "auto") quiet.steps = "quick";  // ends as soon as memory is steady
  quiet.span = {};
  if (request.budget_is_firm || result.free_run) quiet.whole_seconds = left();
  return quiet;
}

job::RunRequest FitContext::plentiful_request() const {
  job::RunRequest plentiful = quiet_request();
  plentiful.obstacles = true;
  for (job::CardChoice& card : plentiful.cards) card.total = std::max(Bytes::gib(plenty_gib), limit_of(card));
  return plentiful;
}

job::RunRequest FitContext::trial_request() const {
  job::RunRequest trial = quiet_request();
  trial.span = span.of_trials();
  trial.span_alone = true;
  if (trials_coast()) trial.steps = "auto";
  trial.patch = trials_coast();  // else the run that confirms the best plan makes its patch
  // A plan that makes the script hang must not take the whole budget. What others of this machine do must not make
  // it look as if it did.
  if (trial.timeout_seconds) return trial;
  const double limit = kShortestLimit + kLimitFactor * own_seconds(*result.free_run);
  (request.budget_is_firm ? trial.timeout_seconds : trial.patient_seconds) = limit;
  return trial;
}

bool FitContext::trials_coast() const {
  return request.run.steps == "auto" && request.goal != FitGoal::kMaxBatch && span.of_trials().is_empty();
}

std::optional<std::int64_t> FitContext::whole_steps() const {
  // If facts of two runs were joined, only the longer run counted all steps.
  return span.whole_steps() ? span.whole_steps() : whole_steps_of(*result.free_run);
}

plan::OnTrial FitContext::tell_trials() {
  return [this](const model::Plan& plan, const plan::Outlook& outlook, std::size_t done, std::string_view stage) {
    progress.update(fmt::format("{}: {} (predicted {}) - {} run, at most {:.0f} s left", stage, name_to_tell(plan),
                                to_string(plan::peak_on({outlook.needs, outlook.uses}, result.limit)), done, left()));
  };
}

std::string FitContext::name_to_tell(const model::Plan& plan) {
  if (std::ranges::find(told, plan) == told.end()) told.push_back(plan);
  int number = 0;
  for (const model::Plan& other : told) {
    number += other.name == plan.name ? 1 : 0;
    if (other == plan) break;
  }
  return number == 1 ? plan.name : fmt::format("{} (set {})", plan.name, number);
}

bool FitContext::conclude(FitVerdict verdict, std::string reason) {
  result.verdict = verdict;
  result.reason = std::move(reason);
  return false;
}

}  // namespace vramfit::app
