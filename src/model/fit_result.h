// What `vramfit fit` found: plain values, ready to be shown as text or JSON.
#ifndef VRAMFIT_MODEL_FIT_RESULT_H
#define VRAMFIT_MODEL_FIT_RESULT_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/equivalence.h"
#include "model/patch.h"
#include "model/plan.h"
#include "model/run_result.h"

namespace vramfit::model {

enum class FitVerdict {
  kFitsAlready,
  kPlanFits,     // at least one plan was proven
  kNothingFits,  // everything together was run, and is too large still
  kNeedsEdit,    // `cause`: no change around the script can help
  kNotProven,    // what might fit broke the script, took too long or is borderline: nothing was proven
  kOutOfTime,    // the budget was used before anything was proven: nothing is known
  kInterrupted,  // Ctrl-C before anything was proven
  kJobFailed     // the job does not run, for a reason other than memory
};
std::string_view to_string(FitVerdict verdict);  // "fits_already", "plan_fits", ...

enum class PlanStanding {
  kFits,        // proven
  kBorderline,  // within the uncertainty of the context's size
  kDoesNotFit,  // proven not to
  kRefused,     // the script could not be changed that way
  kBroke,       // the script failed with it
  kTimedOut,    // its run had not ended when its time was over
  kTrainsElse,  // it fits, and was found to train something else
  kNotRun       // predicted to be hopeless
};
std::string_view to_string(PlanStanding standing);  // "fits", "does_not_fit", ...

struct PlanRow {
  Plan plan;
  PlanStanding standing = PlanStanding::kNotRun;
  Bytes predicted;             // what it cannot do without; source: model
  Bytes predicted_peak;        // what it takes of this card, with the cache that has room there: beside `proven`
  double predicted_error = 0;  // by which such predictions were off, as a share; 0: none is known
  Bytes predicted_low, predicted_high;  // around predicted_peak: by that, and by what nothing told of this plan
  std::string predicted_by;             // how it was foretold: plan::name(MadeBy)
  std::optional<Peaks> proven;          // source: run; of a run that died, the highest it got to
  std::int64_t retries = 0;
  bool is_tight = false;               // nothing is to spare
  double time_factor = 1;              // of a training step, against the job as it is; source: model
  double time_low = 1, time_high = 1;  // an assumed range
  std::string effect;                  // as plan::name(Effect): "same", "rounding", "precision", "updates", ...
  std::vector<std::string> consequences;
  std::string reason;                      // why it is not the answer; empty for the winner
  double wall_seconds = 0;                 // of the run
  std::optional<Equivalence> equivalence;  // absent: nobody asked, as of plans that are not the best
  std::optional<Patch> patch;              // it in the script's own source; absent: no run made it
};

// The thing in the script itself that makes it run out.
struct ScriptCause {
  std::string text;
  std::string line;    // of the script; may be empty
  std::string remedy;  // what to write instead
  bool is_all = true;  // nothing around the script can help: without a change that puts it right a search is no use
  bool operator==(const ScriptCause&) const = default;
};

struct TechniqueRow {
  std::string id;
  std::string standing;  // "applicable", "in_force", "not_possible", "denied"
  std::string reason;
};

// What the best plan was to be.
enum class FitGoal { kSameTraining, kMinTime, kMinMemory, kMaxBatch };
std::string_view to_string(FitGoal goal);  // "same-training", "min-time", "min-memory", "max-batch"
std::optional<FitGoal> find_goal(std::string_view name);

// The answer to --goal max-batch.
struct LargestBatch {
  std::int64_t size = 0;
  std::int64_t own = 0;       // the script's
  bool is_exact = false;      // one sample more was run, and did not fit
  bool is_all_data = false;   // a pass may have no more samples: its last batch may be smaller than the others
  bool is_next_near = false;  // with `is_exact`: one sample more missed by less than the context's uncertainty
  bool operator==(const LargestBatch&) const = default;
};

// Changes that would make the floor lower. source: model
struct FloorRemedy {
  std::string text;
  Bytes frees;
  Bytes leaves;  // of the floor
  bool operator==(const FloorRemedy&) const = default;
};

// How many of a card hold the floor together: weights, gradients and state sharded over them (ZeRO-3, FSDP).
struct FloorCards {
  std::string card;
  std::int64_t count = 0;  // 0: no number does, as each needs more than the card beside its share
  Bytes each;
  bool operator==(const FloorCards&) const = default;
};

// What the training can't do without on one card, however small its batch: no plan that keeps the network, the
// optimizer and all of them on the card takes less.
struct Floor {
  Bytes context;           // and libraries
  Bytes weights;           // and buffers
  Bytes moved = {};        // by optimizers, and no weights of a model: images, latents
  Bytes gradients;         // of all weights, at the end of a backward pass
  Bytes optimizer;         // its state
  std::string name;        // of the optimizer; empty: none was seen
  Bytes transient = {};    // the largest block that one operator takes beside what lasts
  std::string owner = {};  // whose the weights are: "GPT2LMHeadModel, 175 billion parameters"
  std::vector<FloorRemedy> remedies = {};
  std::vector<FloorCards> cards = {};
  Bytes sum() const { return context + weights + moved + gradients + optimizer; }
  bool operator==(const Floor&) const = default;
};

// Cards on which the job would run instead. source: model, but for `proven`.
struct HardwareRow {
  std::string key, name;   // of the card
  int count = 1;           // of them, under DistributedDataParallel
  bool with_plan = false;  // with the best plan; otherwise as it is
  Bytes needs, memory;     // of each card
  double price = 0;        // of all of them; RTX 3090 = 1
  double time_factor = 1;  // of a step, against the job as it is on the card that was asked for
  double time_low = 1, time_high = 1;
  bool proven = false;  // it was run there
};

struct FitResult {
  FitGoal goal = FitGoal::kSameTraining;
  FitVerdict verdict = FitVerdict::kJobFailed;
  std::string reason;  // one sentence, for verdicts that need one
  std::string card;
  int card_index = 0;                 // of the card that is shortest of memory: what is predicted is predicted for it
  int cards = 1;                      // proofs are by all of them
  Bytes limit;                        // that card's memory
  RunResult as_is;                    // the job on the card
  std::optional<RunResult> free_run;  // the job on the same card with far more memory: what it would take
  std::optional<ScriptCause> cause;
  std::optional<LargestBatch> largest_batch;
  std::vector<PlanRow> plans;  // those that fit, best first
  std::vector<PlanRow> lost;
  std::vector<PlanRow> foreseen;  // other kinds of plan that would fit by the prediction, cheapest first; not run
  std::vector<PlanRow> front;     // memory against time: no plan beats one of these in everything; most were not run
  std::vector<TechniqueRow> techniques;
  std::optional<Floor> floor;         // where no plan fits
  std::vector<std::string> advice;    // what takes an edit, in sentences with this job's figures
  std::vector<HardwareRow> hardware;  // as it is, then with the best plan; each cheapest first
  bool cheapest_known = false;        // nothing cheaper is left that could fit
  bool was_interrupted = false;       // Ctrl-C or SIGTERM: this is what was proven by then
  std::string plan_file;              // where the best plan was written; empty when it was not
  std::string prove_command, train_command, patch_command;
  double seconds = 0, budget_seconds = 0;
  int runs = 0;
  std::size_t candidates = 0, ruled_out = 0;
  std::size_t only_foreseen = 0;  // cheaper than the best plan, and too large by the prediction alone: not run
};

}  // namespace vramfit::model

#endif
