// The runs of a search: its candidates, which of them are still open, and what each run that was made says about
// others.
#ifndef VRAMFIT_PLAN_SEARCH_TRIALS_H
#define VRAMFIT_PLAN_SEARCH_TRIALS_H

#include <limits>
#include <string_view>
#include <vector>

#include "plan/search/open_candidates.h"
#include "plan/search/predicted_needs.h"
#include "plan/search/search.h"

namespace vramfit::plan {

inline constexpr std::size_t kNoCandidate = std::numeric_limits<std::size_t>::max();  // no candidate

class Trials {
 public:
  Trials(const model::Job& job, const Target& target, const std::vector<Axis>& axes, Prover& prover,
         const SearchOptions& options, const base::Clock& clock, const OnTrial& on_trial);

  const std::vector<Candidate>& candidates() const { return candidates_; }  // cheapest first: an index is also a rank
  PredictedNeeds& needs() { return needs_; }
  OpenCandidates& open() { return open_; }
  SearchResult& result() { return result_; }

  // The cheapest that was proven to fit; kNoCandidate: none was.
  std::size_t best() const { return best_; }
  bool has_best() const { return best_ != kNoCandidate; }
  // Takes in its place one that costs more, which was the last to run.
  void prefer_last(std::size_t index);

  // Whether the budget has time for another run. It is over once it has not.
  bool may_run();
  bool has_time_for(double runs) const;
  double elapsed() const { return base::seconds_between(started_ns_, clock_.now_ns()); }
  bool is_over() const { return stopped_; }
  // Time ran out for what is not needed for the answer.
  void end_well() { stopped_ = false; }
  Ending ending(bool cheapest_known) const;

  // Runs one candidate, and rules out or settles what follows from the result. False: it did not fit, or could not run.
  bool try_candidate(std::size_t index, std::string_view stage);

  template <typename Predicate>
  std::size_t find_first_open(std::size_t end, Predicate predicate) const {
    for (std::size_t i = 0; i < end; ++i) {
      if (open_.is_open(i) && predicate(i)) return i;
    }
    return kNoCandidate;
  }

  // The open one of the first `end` candidates (the cheapest) that is predicted to need least; of several that need the
  // same, the one that changes most in the phase where memory ran out: if it fails, the others are ruled out.
  template <typename Predicate>
  std::size_t find_smallest_open(std::size_t end, Predicate predicate) {
    std::size_t smallest = kNoCandidate;
    for (std::size_t i = 0; i < end; ++i) {
      if (!open_.is_open(i) || !predicate(i)) continue;
      if (smallest == kNoCandidate || is_stronger(i, smallest)) smallest = i;
    }
    return smallest;
  }

 private:
  bool is_anything_unknown() const;
  void draw_conclusions(std::size_t index, const Proof& proof);
  bool is_stronger(std::size_t left, std::size_t right);

  const model::Job& job_;
  const Target& target_;
  const std::vector<Axis>& axes_;
  Prover& prover_;
  const SearchOptions& options_;
  const base::Clock& clock_;
  const OnTrial& on_trial_;
  const std::int64_t started_ns_;
  const std::vector<Candidate> candidates_;
  PredictedNeeds needs_;
  OpenCandidates open_;
  std::size_t best_ = kNoCandidate;
  double longest_run_ = 0;
  bool stopped_ = false;
  SearchResult result_;
};

}  // namespace vramfit::plan

#endif
