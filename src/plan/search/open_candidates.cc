#include "plan/search/open_candidates.h"

#include <algorithm>

namespace vramfit::plan {

std::size_t OpenCandidates::count_closed_without_run() const {
  return static_cast<std::size_t>(std::ranges::count_if(state_, [](State state) { return state >= State::kRuledOut; }));
}

std::size_t OpenCandidates::count_open(std::size_t end) const {
  return static_cast<std::size_t>(
      std::count(state_.begin(), state_.begin() + static_cast<std::ptrdiff_t>(end), State::kOpen));
}

void OpenCandidates::learn_from_job() {
  if (!job_.oom) return;
  Candidate as_is;
  as_is.levels.assign(axes_.size(), 0);
  rule_out_in(job_.oom->phase, as_is);
}

// More changes can make segments come out worse: a candidate that frees less, but was played and found to need less
// than the one that failed, stays open.
void OpenCandidates::rule_out_weaker(const std::string& phase, std::size_t failed, const PredictedNeeds& needs) {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (is_open(i) && needs.is_known_to_need_less(i, failed)) kept.push_back(i);
  }
  rule_out_in(phase, candidates_[failed]);
  for (const std::size_t i : kept) state_[i] = State::kOpen;
}

void OpenCandidates::leave_unproven_below(std::size_t borderline) {
  rule_out(State::kUnproven, [&](const Candidate& other) { return is_at_most(other, candidates_[borderline]); });
}

void OpenCandidates::rule_out_refused(const Candidate& broken, const std::vector<std::string>& refused) {
  rule_out_broken(State::kRuledOut, broken, refused);
}

void OpenCandidates::leave_unproven_above(const Candidate& broken, const std::vector<std::string>& refused) {
  rule_out_broken(State::kUnproven, broken, refused);
}

const std::vector<bool>& OpenCandidates::axes_of(const std::string& phase) {
  auto known = axes_of_phase_.find(phase);
  if (known == axes_of_phase_.end()) {
    known = axes_of_phase_.emplace(phase, find_axes_of(job_, target_, axes_, phase)).first;
  }
  return known->second;
}

void OpenCandidates::rule_out(State as, const std::function<bool(const Candidate&)>& is_meant) {
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (is_open(i) && is_meant(candidates_[i])) state_[i] = as;
  }
}

// A candidate that differs from the failed one in other phases only runs out in this phase as well.
void OpenCandidates::rule_out_in(const std::string& phase, const Candidate& failed) {
  const std::vector<bool>& touched = axes_of(phase);
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) matters_[axis] = matters_[axis] || touched[axis];
  rule_out(State::kRuledOut, [&](const Candidate& other) { return is_at_most_on(touched, other, failed); });
}

// A technique that was refused is refused in every combination, and one that broke the script on its own breaks it in
// every combination. Where several were applied together and nobody knows which of them broke it, only larger
// combinations are out: a smaller one may do without the culprit.
void OpenCandidates::rule_out_broken(State as, const Candidate& broken, const std::vector<std::string>& refused) {
  rule_out(as, [&](const Candidate& other) { return is_at_most(broken, other); });
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    if (broken.levels[axis] == 0) continue;
    const std::string& id = axes_[axis].options[broken.levels[axis] - 1].technique;
    if (broken.changes > 1 && std::ranges::find(refused, id) == refused.end()) continue;
    rule_out(as, [&](const Candidate& other) { return other.levels[axis] > 0; });
  }
}

}  // namespace vramfit::plan
