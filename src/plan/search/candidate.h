// The space of plans: one axis per technique, one level per option, level 0 for "leave it".
//
//   axis         level 1         level 2         level 3
//   micro_batch  4 x 2           2 x 4           1 x 8
//   checkpoint   1 block         2 blocks        all blocks
//
// The higher the level, the more it frees (Technique::options). So a candidate that is at or above another on every
// axis frees at least as much, and if it does not fit, the other does not either. The search rests on this law.
#ifndef VRAMFIT_PLAN_SEARCH_CANDIDATE_H
#define VRAMFIT_PLAN_SEARCH_CANDIDATE_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/stream/player.h"
#include "plan/technique.h"

namespace vramfit::plan {

struct Axis {
  const Technique* technique = nullptr;
  std::vector<model::Change> options;
};

struct Candidate {
  std::vector<std::uint8_t> levels;  // one per axis
  Bytes needs;                       // predicted
  Effect effect = Effect::kSame;
  double time_factor = 1;  // of a step, against the job as it is; from the time model
  double uncertainty = 0;
  int changes = 0;  // all of them
  int mends = 0;    // of these, those that put a fault of the script right
  bool operator==(const Candidate&) const = default;
};

// How long a step takes against the job as it is, by the time model.
double time_factor_of(const model::Job& job, const Target& target, const Forecast& forecast);

// The axes of the techniques that are applicable. Very long axes are thinned out so that the space stays small enough
// to be listed; the strongest option of each always stays.
std::vector<Axis> build_axes(const model::Job& job, const Target& target, std::span<const Technique* const> techniques);

// All combinations of options in which no two claim the same slot and that the target accepts, cheapest first (see
// Cheaper). The one that changes nothing is left out.
std::vector<Candidate> build_candidates(const model::Job& job, const Target& target, const std::vector<Axis>& axes);

// What comes first in the order of plans for --goal same-training, mildest first: what a plan takes from the training;
// those that make a step more than twice as slow come behind all that train the same steps.
enum class Rank : std::uint8_t {
  kEqual,
  kRounding,
  kPrecision,
  kUpdates,  // in fewer bits too, and small updates are lost
  kStatistics,
  kSlow,
  kSlowUpdates,
  kAnother,
  kBeyondAll  // no plan's
};
Rank rank_of(Effect effect, double time_factor);
inline Rank rank_of(const Candidate& candidate) { return rank_of(candidate.effect, candidate.time_factor); }

// The order of plans for --goal same-training: by rank, then the faster, then those with fewer changes. Each further
// change counts as 2 % of time, since nobody wants five changes where one will do; putting a fault right counts
// nothing. The other goals put time or memory first.
class Cheaper {
 public:
  explicit Cheaper(Goal goal = Goal::kSameTraining) : goal_(goal) {}
  bool operator()(const Candidate& left, const Candidate& right) const;

 private:
  Goal goal_;
};

// How much faster a step is with the cheaper of two plans, as Cheaper counts time: 0.05 is 5 %. Infinite if it is
// better for another reason than time.
double gain_of(const Candidate& cheaper, const Candidate& other);

bool is_at_most(const Candidate& weaker, const Candidate& stronger);

// Whether each axis changes what is held at any moment of this phase. If no moment of the phase is known: true for all.
std::vector<bool> find_axes_of(const model::Job& job, const Target& target, const std::vector<Axis>& axes,
                               std::string_view phase);
// Like is_at_most, but only these axes count.
bool is_at_most_on(const std::vector<bool>& axes, const Candidate& weaker, const Candidate& stronger);

// The full forecast of one candidate, with the text for people.
struct Explained {
  model::Plan plan;
  Outlook outlook;
  Effect effect = Effect::kSame;
  double time_factor = 1;
  std::vector<std::string> consequences;
};
// With a `player` the outlook is played, where that is possible; without one the savings are added up.
Explained explain(const model::Job& job, const Target& target, const std::vector<Axis>& axes,
                  const Candidate& candidate, const StreamPlayer* player = nullptr);

// The blocks that the player would play for a candidate, to compare them with those of a run. Nothing: it can't be
// played.
std::optional<std::vector<Life>> foretell_lives(const model::Job& job, const Target& target,
                                                const std::vector<Axis>& axes, const Candidate& candidate,
                                                const StreamPlayer& player);

// The outlook for a candidate by playing its allocations. Nothing: they can't be played.
std::optional<Outlook> play(const model::Job& job, const Target& target, const std::vector<Axis>& axes,
                            const Candidate& candidate, const StreamPlayer& player);

}  // namespace vramfit::plan

#endif
