#include "plan/search/predicted_needs.h"

#include <cmath>

namespace vramfit::plan {
namespace {

constexpr double kMostPlaySeconds = 4;  // of a whole search

// A change that might have been measured in a run of its own, and was not.
bool is_unmeasured(MadeBy made) { return made == MadeBy::kUnmeasuredLives || made == MadeBy::kUnmeasuredSizes; }

}  // namespace

bool may_fit(Bytes added_up, double limit) {
  return lowest_of(static_cast<double>(added_up.count()), MadeBy::kAddedUp) <= limit;
}

Bytes PredictedNeeds::of(std::size_t index) {
  const Candidate& candidate = candidates_[index];
  if (!player_.is_sound()) return candidate.needs;
  if (!played_[index]) {
    const bool is_worth_it = may_fit(candidate.needs, static_cast<double>(target_.limit.count()));
    if (!is_worth_it || play_seconds_ > kMostPlaySeconds) return candidate.needs;
    const std::int64_t began_ns = clock_.now_ns();
    const auto outlook = play(job_, target_, axes_, candidate, player_);
    if (outlook) {
      played_[index] = Played{outlook->needs, outlook->least, outlook->floor, outlook->made_by};
    } else {
      played_[index] = Played{candidate.needs, Bytes(), floor_of(index), MadeBy::kAddedUp};
    }
    play_seconds_ += base::seconds_between(began_ns, clock_.now_ns());
  }
  return played_[index]->needs;
}

// The interval of an unmeasured change is wide. That alone is no reason to run it, so it is trusted as if it were one
// of several changes together, whose interval is narrower.
MadeBy PredictedNeeds::trusted_as(std::size_t candidate) const {
  const MadeBy made = played_[candidate] ? played_[candidate]->by : MadeBy::kAddedUp;
  return is_unmeasured(made) ? MadeBy::kCombined : made;
}

std::optional<double> PredictedNeeds::error_of_played(std::size_t candidate) const {
  if (!played_[candidate] || played_[candidate]->by == MadeBy::kAddedUp) return std::nullopt;
  return error_of(trusted_as(candidate));
}

double PredictedNeeds::excess_of(std::size_t candidate) const {
  if (!played_[candidate]) return options_.hopeless_excess + candidates_[candidate].uncertainty;
  const MadeBy made = played_[candidate]->by;
  if (made == MadeBy::kAddedUp || is_unmeasured(made)) return options_.hopeless_excess_played + kPlayedUncertainty;
  return options_.hopeless_excess_seen;
}

Bytes PredictedNeeds::floor_of(std::size_t candidate) {
  if (played_[candidate]) return played_[candidate]->floor;
  std::optional<Bytes>& floor = floors_[candidate];
  if (!floor) floor = explain(job_, target_, axes_, candidates_[candidate]).outlook.floor;
  return *floor;
}

bool PredictedNeeds::is_hopeless(std::size_t candidate) {
  const double needs = static_cast<double>(of(candidate).count());
  const double limit = static_cast<double>(target_.limit.count());
  const double least = played_[candidate] ? static_cast<double>(played_[candidate]->least.count()) : 0;
  // What tensors hold at once is more than the card, whatever the rest comes to.
  if (least > limit * (1 + options_.hopeless_excess_held)) return true;
  // The lower end of its interval would fit, unless what lasts from step to step is more.
  if (lowest_of(needs, trusted_as(candidate)) <= limit) {
    return needs > limit && std::isfinite(options_.hopeless_excess_held) && floor_of(candidate) > target_.limit;
  }
  return needs > limit * (1 + excess_of(candidate));
}

}  // namespace vramfit::plan
