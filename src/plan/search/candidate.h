// The space of plans: one axis per technique, one level per option, level 0 for "leave it".
//
//   axis         level 1         level 2         level 3
//   micro_batch  4 x 2           2 x 4           1 x 8
//   checkpoint   1 block         2 blocks        all blocks
//
// Levels of an axis grow in strength (Technique::options), so a candidate that is at or above another on every axis
// frees at least as much: when it does not fit, neither does the other. Search rests on this one law.
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
  int mends = 0;    // of these, what puts the script's own fault right
  bool operator==(const Candidate&) const = default;
};

// How long a step takes against the job as it is, by the time model.
double time_factor_of(const model::Job& job, const Target& target, const Forecast& forecast);

// The axes of the techniques that are applicable. Very long axes are thinned out so that the space stays small enough
// to be listed; the strongest option of each always stays.
std::vector<Axis> build_axes(const model::Job& job, const Target& target, std::span<const Technique* const> techniques);

// Every combination of options that respects slots and what the target accepts, the empty one left out, cheapest first
// (see Cheaper).
std::vector<Candidate> build_candidates(const model::Job& job, const Target& target, const std::vector<Axis>& axes);

// What takes less from the training comes first, tier by tier; within a tier faster plans; of equals, fewer changes.
// Each further change counts as 2 % of time: nobody wants five knobs turned for nothing. A fault put right is no cost.
// What makes a step twice as slow comes after all that trains the same steps. The other goals put time or memory first.
class Cheaper {
 public:
  explicit Cheaper(Goal goal = Goal::kSameTraining) : goal_(goal) {}
  bool operator()(const Candidate& left, const Candidate& right) const;

 private:
  Goal goal_;
};

// What a cheaper plan wins of a step's time over another, as Cheaper counts it: 0.05 is 5 %. Infinite where it is not
// time alone that makes it the better one.
double gain_of(const Candidate& cheaper, const Candidate& other);

bool is_at_most(const Candidate& weaker, const Candidate& stronger);

// Which axes change what is held at some moment of this phase; all of them for a phase of which no moment is known.
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
// `player`: what the outlook is played by, where it can be; null: it is added up.
Explained explain(const model::Job& job, const Target& target, const std::vector<Axis>& axes,
                  const Candidate& candidate, const StreamPlayer* player = nullptr);

// The blocks that it plays, to be compared with those of a run; nothing where it plays none.
std::optional<std::vector<Life>> foretell_lives(const model::Job& job, const Target& target,
                                                const std::vector<Axis>& axes, const Candidate& candidate,
                                                const StreamPlayer& player);

// What becomes of a candidate by its own stream of allocations; nothing where that can't be played.
std::optional<Outlook> play(const model::Job& job, const Target& target, const std::vector<Axis>& axes,
                            const Candidate& candidate, const StreamPlayer& player);

}  // namespace vramfit::plan

#endif
