// Finds the cheapest plan that is proven to fit, by running as few candidates as possible.
//
//   mend       what puts right what is wrong with the script itself: the mildest option that fits, by bisection
//   secure     plans predicted to fit, cheapest first, until one is proven
//   improve    those cheaper than the best one proven: the strongest of them first, so that one failure rules out many
//   doubt      of those that the prediction alone rules out, the two that need least: a prediction may be far off
//   make room  where the best fits only by emptying PyTorch's cache: one that costs little more and does without
//   widen      a few more kinds of plan, for people to choose from: run, or only foreseen
//
// A prediction only orders the work and rules out the hopeless; the law of candidate.h rules out the rest.
#ifndef VRAMFIT_PLAN_SEARCH_SEARCH_H
#define VRAMFIT_PLAN_SEARCH_SEARCH_H

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "plan/search/candidate.h"

namespace vramfit::plan {

enum class Outcome {
  kFits,
  kBorderline,  // within the uncertainty of the context's size
  kOutOfMemory,
  kRefused,  // the script could not be changed that way
  kFailed,   // the script broke
  kTimedOut  // it did not end in the time it was given
};
std::string_view name(Outcome outcome);

// What a run of the script with the plan applied showed.
struct Proof {
  Outcome outcome = Outcome::kFailed;
  Bytes peak_device, peak_reserved, peak_allocated;
  std::int64_t retries = 0;          // PyTorch emptied its cache to go on: slower
  std::string phase;                 // of the peak, or of the failure
  Bytes tried;                       // what it asked for when memory ran out
  std::string detail;                // why it was refused or failed; the script's line that ran out
  std::vector<std::string> refused;  // change ids
  double wall_seconds = 0;
};

// Whether a plan fits with nothing to spare: PyTorch emptied its cache to go on, or 98 % of the card were in use.
bool is_tight(const Proof& proof, Bytes limit);

class Prover {
 public:
  virtual ~Prover() = default;
  // An error means that no run was possible (interrupted, no shared memory); a run that fails is a proof.
  // It takes no longer than `seconds_left`.
  virtual base::Result<Proof> prove(const model::Plan& plan, double seconds_left) = 0;
};

struct SearchOptions {
  double budget_seconds = 60;
  // Predicted to need more than limit x (1 + this + its own uncertainty), and its interval ends above the card: not
  // worth a run. Infinite: leaves nothing to the prediction.
  double hopeless_excess = 0.15;
  double hopeless_excess_played = 0.07;  // with changes that might have been measured, and were not
  double hopeless_excess_seen = 0;       // of bench/forecast 4 of 572 needed less than their interval, by 1 % at most
  // What tensors hold is played more exactly than what is reserved for them: of the cases of bench/forecast none was
  // played more than half of this too high.
  double hopeless_excess_held = 0.03;
  double noticed = 0.02;          // of a step's time: what is predicted not to fit is not run to win less
  double safety = 0.03;           // `secure` starts with candidates predicted to fit with this to spare
  int alternatives = 4;           // fitting plans to look for beside the best
  bool runs_alternatives = true;  // otherwise they are told as foreseen
  bool makes_room = true;         // one with room may take the place of a tight one
  bool doubts_forecast = false;   // some of what the prediction alone rules out is run
};

enum class Ending {
  kCheapestProven,  // nothing cheaper is left that could fit
  kBudgetUsed,      // ran out of time searching
  kNothingFits,     // the strongest combination was run and does not fit
  kNothingProven,   // what might fit could not be shown to: it broke the script, took too long or is borderline
  kInterrupted,     // Ctrl-C: what was proven so far
  kFailed           // runs are not possible any more
};

struct PlanTrial {
  Candidate candidate;
  model::Plan plan;
  Outlook outlook;  // predicted
  std::vector<std::string> consequences;
  Proof proof;
};

// A plan that was not run.
struct Foreseen {
  Candidate candidate;
  Explained explained;
};

struct SearchResult {
  Ending ending = Ending::kNothingFits;
  std::vector<PlanTrial> trials;  // in the order in which they were run
  std::optional<std::size_t> best;
  std::size_t candidates = 0;
  std::size_t ruled_out = 0;       // by the law, without a run
  std::size_t only_foreseen = 0;   // cheaper than the best, and too large by the prediction alone
  std::vector<Foreseen> foreseen;  // other kinds of plan that would fit by the prediction, cheapest first
  std::optional<base::Error> error;
};

// Called before each run with the plan's name and how many runs are done.
using OnTrial = std::function<void(const model::Plan&, const Outlook&, std::size_t done, std::string_view stage)>;

// Whether some plan would fit by the prediction, with room for its error.
bool is_foreseen_to_fit(const model::Job& job, const Target& target, const std::vector<Axis>& axes);

SearchResult search(const model::Job& job, const Target& target, const std::vector<Axis>& axes, Prover& prover,
                    const SearchOptions& options, const base::Clock& clock, const OnTrial& on_trial = {});

}  // namespace vramfit::plan

#endif
