#include "app/fit/best_plan_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/fit/equivalence.h"
#include "app/fit/plan_row.h"
#include "app/fit/prover.h"
#include "base/interrupt.h"

namespace vramfit::app {
namespace {

using base::ErrorCode;
using model::PlanRow;

// The comparison of the best plan with the job as it is, whose steps the CPU computes: half of the proof, which a long
// search must not take the time of. A firm budget is kept.
constexpr double kComparisonSeconds = 60;

const std::string kAfterLoop = "after its training loop: ";

// What both runs of a plan took at their most.
model::Peaks raised(const model::Peaks& peaks, const plan::Proof& proof) {
  return {std::max(peaks.allocated, proof.peak_allocated), std::max(peaks.reserved, proof.peak_reserved),
          std::max(peaks.device, proof.peak_device)};
}

job::RunRequest request_to_compare(const FitContext& fit) {
  job::RunRequest request = fit.quiet_request();
  if (!fit.request.budget_is_firm) request.patient_seconds = fit.left();
  return request;
}

}  // namespace

BestPlanCheck::BestPlanCheck(FitContext& fit, std::filesystem::path folder)
    : fit_(fit), folder_(std::move(folder)), verifier_(request_to_compare(fit), folder_, fit.runner, fit.clock) {}

void BestPlanCheck::expect(const model::Plan& plan, bool is_foreseen) {
  // A firm budget is for plans first.
  if (!is_foreseen || fit_.request.budget_is_firm || proofs_.knows(plan)) return;
  if (fit_.request.verify && !is_exempt(plan)) verifier_.begin(compared_part(plan), comparison_seconds());
  if (is_confirmed_by_a_run()) confirmer().begin(plan, fit_.left());
}

// It is proven as a later `vramfit run --plan` would: over all of those batches, and by a short run that coasts, in
// which a cache that breaks up from round to round runs out long before its training would. The latter was its trial.
bool BestPlanCheck::is_confirmed_by_a_run() const {
  return fit_.request.run.steps == "auto" && (!fit_.trials_coast() || !fit_.span.of_answer().is_empty());
}

RunProver& BestPlanCheck::confirmer() {
  if (confirmer_) return *confirmer_;
  job::RunRequest request = fit_.quiet_request();
  request.steps = "auto";
  request.span = fit_.span.of_answer();
  request.span_alone = fit_.trials_coast();
  request.tells_lines = false;
  request.patch = true;
  const std::filesystem::path own = folder_ / "confirmed";  // its plans' files, beside those of trials
  std::error_code failed;                                   // shows when a plan is written there
  std::filesystem::create_directory(own, failed);
  confirmer_.emplace(std::move(request), PhaseSteps{}, own, fit_.runner);
  if (const auto steps = fit_.whole_steps()) confirmer_->expect_steps(*steps);
  return *confirmer_;
}

void BestPlanCheck::confirm_best(bool is_compared) {
  if (!is_confirmed_by_a_run()) return;
  const double expected = kWholeRunFactor * (fit_.result.free_run->wall_seconds + fit_.span.answer_seconds());
  while (!fit_.result.plans.empty() && fit_.elapsed() + expected < fit_.result.budget_seconds) {
    model::PlanRow& best = fit_.result.plans.front();
    if (is_compared && !fit_.request.budget_is_firm && fit_.request.verify && !find_known_equivalence(best)) {
      verifier_.begin_with(compared_part(best.plan), comparison_seconds(), say());
    }
    fit_.progress.update(fmt::format("confirming {}", fit_.name_to_tell(best.plan)));
    const auto proof = confirmer().prove(best.plan, fit_.left());
    if (!proof) {
      note_interrupt(proof.error());
      return;
    }
    ++fit_.result.runs;
    if (proof->outcome == plan::Outcome::kTimedOut) return;  // what was proven before stands
    if (proof->outcome == plan::Outcome::kFits) {
      best.proven = raised(best.proven.value_or(model::Peaks{}), *proof);
      best.retries = proof->retries;
      best.patch = proof->patch;
      return;
    }
    proofs_.overrule(best.plan, *proof);
    was_overruled_ = true;
    const bool is_refused = proof->outcome == plan::Outcome::kRefused;  // so late because it came to light so late
    best.standing = is_refused ? model::PlanStanding::kTrainsElse : model::PlanStanding::kDoesNotFit;
    best.reason = (is_refused ? "" : kAfterLoop) + why_unproven(*proof);
    fit_.result.lost.push_back(std::move(best));
    fit_.result.plans.erase(fit_.result.plans.begin());
    fit_.result.cheapest_known = false;
  }
}

void BestPlanCheck::check_best() {
  do {
    confirm_best(/*is_compared=*/true);
  } while (!fit_.result.plans.empty() && makes_way());
}

std::function<void(std::string_view)> BestPlanCheck::say() const {
  return [this](std::string_view line) { fit_.progress.update(line); };
}

double BestPlanCheck::comparison_seconds() const {
  return fit_.request.budget_is_firm ? fit_.left() : kComparisonSeconds;
}

bool BestPlanCheck::makes_way() {
  PlanRow& best = fit_.result.plans.front();
  best.equivalence = find_known_equivalence(best);
  if (best.equivalence) return false;
  const double seconds = comparison_seconds();
  if (!fit_.request.verify || seconds <= 0 || base::was_interrupted()) {
    best.equivalence = not_run(best, !fit_.request.verify ? "--no-verify"
                                     : seconds <= 0       ? "no time was left"
                                                          : "interrupted");
    return false;
  }
  const auto verified = verifier_.compare(compared_part(best.plan), seconds, say());
  best.equivalence = verified ? verified->equivalence : not_compared(verified.error().what);
  if (!verified) note_interrupt(verified.error());
  if (!is_failed(*best.equivalence)) return false;
  plan::Proof proof;
  proof.detail = best.equivalence->text;
  proofs_.overrule(best.plan, std::move(proof));
  was_overruled_ = true;
  if (const std::string culprit = reject_best(fit_.result); !culprit.empty()) culprits_.push_back(culprit);
  return true;
}

void BestPlanCheck::note_interrupt(const base::Error& error) {
  fit_.result.was_interrupted |= error.code == ErrorCode::kInterrupted;
}

bool BestPlanCheck::leaves_out_culprits(std::vector<const plan::Technique*>& techniques) {
  if (!fit_.result.plans.empty() || culprits_.empty() || fit_.left() <= 0) return false;
  std::size_t left_out = 0;
  for (const std::string& culprit : std::exchange(culprits_, {})) {
    left_out += std::erase_if(techniques, [&](const plan::Technique* one) { return one->id() == culprit; });
    rule_out(culprit, fit_.result);
  }
  if (left_out == 0 || techniques.empty()) return false;
  fit_.result.reason.clear();
  return true;
}

bool BestPlanCheck::looks_further() {
  if (!fit_.result.plans.empty() || !std::exchange(was_overruled_, false)) return false;
  if (fit_.left() <= 0 || fit_.result.was_interrupted || base::was_interrupted()) return false;
  std::erase_if(fit_.result.lost, [](const PlanRow& row) {
    return row.standing != model::PlanStanding::kTrainsElse && !row.reason.starts_with(kAfterLoop);
  });
  fit_.result.reason.clear();
  return true;
}

}  // namespace vramfit::app
