// Finds the cheapest plan that is proven to fit, by running as few candidates as possible.
//
//   mend       techniques that put a fault of the script right: the mildest option that fits, by bisection
//   secure     plans predicted to fit, cheapest first, until one is proven
//   improve    plans cheaper than the best proven one: the promising ones first, then the strongest of the doubtful
//   leave out  parts of the best plan, where it was proven to need far less than was predicted
//   doubt      two plans that only the prediction rules out, in case it is far off
//   make room  where the best plan is tight: another with more room, if it costs little more
//   widen      a few plans of other kinds for people to choose from, run or only predicted
//
// A prediction decides the order of runs and rules out what is hopeless. All else is ruled out by runs that failed, and
// by the law of candidate.h.
#ifndef VRAMFIT_PLAN_SEARCH_SEARCH_H
#define VRAMFIT_PLAN_SEARCH_SEARCH_H

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "model/patch.h"
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
  std::string detail;                // why it was refused, failed or is a close call; the script's line that ran out
  std::vector<std::string> refused;  // change ids
  double wall_seconds = 0;
  std::optional<model::Patch> patch;  // the plan in the script's own source, where the run made it
};

// Whether a plan fits with nothing to spare: PyTorch emptied its cache to go on, or 98 % of the card were in use.
bool is_tight(const Proof& proof, Bytes limit);

class Prover {
 public:
  virtual ~Prover() = default;
  // Runs the script with the plan for at most `seconds_left`. A run that fails is a proof too; an error means that
  // nothing could be run (it was interrupted, there is no shared memory).
  virtual base::Result<Proof> prove(const model::Plan& plan, double seconds_left) = 0;
  // Whether it need not run it for that.
  virtual bool knows(const model::Plan&) const { return false; }
};

struct SearchOptions {
  double budget_seconds = 60;
  // A candidate is hopeless, and not run, when it is predicted to need more than limit x (1 + this + its own
  // uncertainty) and even the lower end of that prediction is above the card. Infinite: nothing is left to the
  // prediction.
  double hopeless_excess = 0.15;
  double hopeless_excess_played = 0.07;  // the same where a change could have been measured in a run, and was not
  double hopeless_excess_seen =
      0;  // where all changes were measured: 4 of the first 572 cases in bench/forecast needed less, by 1 %
  // The same for what tensors hold at once, which is predicted better than what is reserved for them: no case of
  // bench/forecast was predicted too high by more than half of this.
  double hopeless_excess_held = 0.03;
  double noticed = 0.02;  // share of a step's time; a plan that is predicted not to fit is not run for a smaller gain
  double safety = 0.03;   // share of the card that a candidate has to leave free by its prediction, to be run first
  int alternatives = 4;   // how many fitting plans to look for beside the best
  bool runs_alternatives = true;   // false: they are only predicted
  bool makes_room = true;          // a plan with room may take the place of a tight one
  bool doubts_forecast = false;    // a few candidates that only the prediction rules out are run
  Rank before = Rank::kBeyondAll;  // the answer is of an earlier rank; others may be alternatives to it
  // Where nothing is foreseen to fit, not even by the lower end of its interval, the plan that frees most is run.
  bool tries_hopeless = true;
};

enum class Ending {
  kCheapestProven,  // nothing cheaper is left that could fit
  kBudgetUsed,      // ran out of time searching
  kNothingFits,     // the strongest combination was run and does not fit
  kNothingProven,   // some plans might fit, but broke the script, took too long or are borderline
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
  std::size_t ruled_out = 0;       // without a run, because another failed
  std::size_t only_foreseen = 0;   // cheaper than the best plan, and only predicted not to fit
  std::vector<Foreseen> foreseen;  // other kinds of plan that would fit by the prediction, cheapest first
  std::optional<base::Error> error;
};

// Called before each run with the plan's name and how many runs are done.
using OnTrial = std::function<void(const model::Plan&, const Outlook&, std::size_t done, std::string_view stage)>;

// The least rank, from `from` on, of which some plan would fit by the prediction, with room for its error. kBeyondAll:
// there is none.
Rank find_foreseen_rank(const model::Job& job, const Target& target, const std::vector<Axis>& axes,
                        Rank from = Rank::kEqual);

SearchResult search(const model::Job& job, const Target& target, const std::vector<Axis>& axes, Prover& prover,
                    const SearchOptions& options, const base::Clock& clock, const OnTrial& on_trial = {});

}  // namespace vramfit::plan

#endif
