// What each candidate of a search is predicted to need, and how far the prediction is trusted.
#ifndef VRAMFIT_PLAN_SEARCH_PREDICTED_NEEDS_H
#define VRAMFIT_PLAN_SEARCH_PREDICTED_NEEDS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "plan/search/candidate.h"
#include "plan/search/search.h"
#include "plan/stream/player.h"

namespace vramfit::plan {

// Savings that are merely added up can be wrong by their own interval. False: even at its lower end the candidate does
// not fit, and playing it would tell nothing new.
bool may_fit(Bytes added_up, double limit);

class PredictedNeeds {
 public:
  PredictedNeeds(const model::Job& job, const Target& target, const std::vector<Axis>& axes,
                 const std::vector<Candidate>& candidates, const SearchOptions& options, const base::Clock& clock)
      : job_(job),
        target_(target),
        axes_(axes),
        candidates_(candidates),
        options_(options),
        clock_(clock),
        player_(job),
        played_(candidates.size()),
        floors_(candidates.size()) {}

  // Plays the job's allocations where they can be played, the candidate is near the card's size, and time is left; else
  // adds up the savings.
  Bytes of(std::size_t candidate);

  bool is_known_to_need_less(std::size_t one, std::size_t other) const {
    return played_[one] && played_[other] && played_[one]->needs < played_[other]->needs;
  }

  // The share by which the prediction for this candidate may be wrong, if it was played; nothing where it was added up.
  std::optional<double> error_of_played(std::size_t candidate) const;
  bool is_played(std::size_t candidate) const { return played_[candidate].has_value(); }

  // Whether a run would be wasted: the prediction says that it does not fit, and is rarely so far off.
  bool is_hopeless(std::size_t candidate);

  const StreamPlayer& player() const { return player_; }

 private:
  struct Played {
    Bytes needs;
    Bytes least;  // what tensors hold at once: neither an empty cache nor luck with segments gets below it
    Bytes floor;  // what lasts from step to step
    MadeBy by = MadeBy::kAddedUp;
  };

  double excess_of(std::size_t candidate) const;
  Bytes floor_of(std::size_t candidate);
  MadeBy trusted_as(std::size_t candidate) const;

  const model::Job& job_;
  const Target& target_;
  const std::vector<Axis>& axes_;
  const std::vector<Candidate>& candidates_;
  const SearchOptions& options_;
  const base::Clock& clock_;
  StreamPlayer player_;
  std::vector<std::optional<Played>> played_;  // by candidate
  std::vector<std::optional<Bytes>> floors_;   // by candidate, of those that were not played
  double play_seconds_ = 0;
};

}  // namespace vramfit::plan

#endif
