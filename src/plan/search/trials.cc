#include "plan/search/trials.h"

#include <algorithm>
#include <utility>

namespace vramfit::plan {

Trials::Trials(const model::Job& job, const Target& target, const std::vector<Axis>& axes, Prover& prover,
               const SearchOptions& options, const base::Clock& clock, const OnTrial& on_trial)
    : job_(job),
      target_(target),
      axes_(axes),
      prover_(prover),
      options_(options),
      clock_(clock),
      on_trial_(on_trial),
      started_ns_(clock.now_ns()),
      candidates_(build_candidates(job, target, axes)),
      needs_(job, target, axes, candidates_, options, clock),
      open_(job, target, axes, candidates_) {
  result_.candidates = candidates_.size();
}

void Trials::prefer_last(std::size_t index) {
  best_ = index;
  result_.best = result_.trials.size() - 1;
}

bool Trials::has_time_for(double runs) const { return elapsed() + runs * longest_run_ <= options_.budget_seconds; }

bool Trials::may_run() {
  if (stopped_) return false;
  if (has_time_for(1)) return true;
  stopped_ = true;
  result_.ending = Ending::kBudgetUsed;
  return false;
}

Ending Trials::ending(bool cheapest_known) const {
  if (result_.error) return result_.ending;
  if (cheapest_known) return Ending::kCheapestProven;
  if (stopped_) return Ending::kBudgetUsed;
  return is_anything_unknown() ? Ending::kNothingProven : Ending::kNothingFits;
}

// Whether some candidate is left of which nobody knows that it does not fit: it did not run out of memory itself, and
// frees more than all that did.
bool Trials::is_anything_unknown() const {
  std::vector<const Candidate*> unknown;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (open_.is_unproven(i)) unknown.push_back(&candidates_[i]);
  }
  for (const PlanTrial& trial : result_.trials) {
    const Outcome outcome = trial.proof.outcome;
    if (outcome != Outcome::kOutOfMemory && outcome != Outcome::kRefused) unknown.push_back(&trial.candidate);
  }
  for (const PlanTrial& trial : result_.trials) {
    if (trial.proof.outcome != Outcome::kOutOfMemory) continue;
    std::erase_if(unknown, [&](const Candidate* candidate) { return is_at_most(*candidate, trial.candidate); });
  }
  return !unknown.empty();
}

bool Trials::try_candidate(std::size_t index, std::string_view stage) {
  Explained explained = explain(job_, target_, axes_, candidates_[index], &needs_.player());
  if (on_trial_ && !prover_.knows(explained.plan))
    on_trial_(explained.plan, explained.outlook, result_.trials.size(), stage);
  const double before = elapsed();
  base::Result<Proof> proof = prover_.prove(explained.plan, options_.budget_seconds - before);
  if (!proof) {
    stopped_ = true;
    result_.error = proof.error();
    result_.ending = proof.error().code == base::ErrorCode::kInterrupted ? Ending::kInterrupted : Ending::kFailed;
    return false;
  }
  longest_run_ = std::max(longest_run_, elapsed() - before);
  open_.set_tried(index);
  draw_conclusions(index, *proof);
  result_.trials.push_back({candidates_[index], std::move(explained.plan), std::move(explained.outlook),
                            std::move(explained.consequences), std::move(*proof)});
  if (best_ == index) result_.best = result_.trials.size() - 1;
  return result_.trials.back().proof.outcome == Outcome::kFits;
}

void Trials::draw_conclusions(std::size_t index, const Proof& proof) {
  switch (proof.outcome) {
    case Outcome::kFits:
      if (best_ == kNoCandidate || index < best_) best_ = index;
      break;
    case Outcome::kOutOfMemory:
      open_.rule_out_weaker(proof.phase, index, needs_);
      break;
    case Outcome::kBorderline:
      open_.leave_unproven_below(index);
      break;
    case Outcome::kRefused:
      open_.rule_out_refused(candidates_[index], proof.refused);
      break;
    case Outcome::kTimedOut:
      // It was ended because the whole budget was used: that says nothing about the plan.
      if (elapsed() >= options_.budget_seconds) {
        stopped_ = true;
        break;
      }
      [[fallthrough]];
    case Outcome::kFailed:
      open_.leave_unproven_above(candidates_[index], proof.refused);
      break;
  }
}

bool Trials::is_stronger(std::size_t left, std::size_t right) {
  if (needs_.of(left) != needs_.of(right)) return needs_.of(left) < needs_.of(right);
  const bool is_known = std::ranges::find(open_.matters(), true) != open_.matters().end();
  const auto sum = [&](std::size_t one) {
    int levels = 0;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      if (!is_known || open_.matters()[axis]) levels += candidates_[one].levels[axis];
    }
    return levels;
  };
  return sum(left) > sum(right);
}

}  // namespace vramfit::plan
