// What a job would hold and cost with changes applied: a copy of the measured facts that techniques transform.
//
// A forecast only decides what is worth running; the answer comes from the run. It is kept so that the order of
// techniques does not matter: they multiply and add, and checkpointing, which subtracts, is worked out at the end.
#ifndef VRAMFIT_PLAN_FORECAST_H
#define VRAMFIT_PLAN_FORECAST_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "model/job.h"
#include "model/plan.h"
#include "plan/forecast_error.h"

namespace vramfit::plan {

using base::Bytes;

// The share of cached bytes that sit in partly used segments and can't be given back.
inline constexpr double kStuckCache = 0.2;

// What a change does to what is learned, mildest first.
enum class Effect {
  kSame,        // the same sums, perhaps in another order
  kRounding,    // the same steps, sums rounded in another order
  kPrecision,   // the same steps in fewer bits
  kUpdates,     // and weights too: updates that are small beside them are lost
  kStatistics,  // batch normalisation sees fewer samples at once
  kOptimizer,   // other update steps: another optimizer, another effective batch
  kInput,       // the network sees something else
  kNetwork,     // another network
};
std::string_view name(Effect effect);  // "same", "rounding", ...

// The tiers of plans, as --accept names them: another optimizer and other inputs are both another training.
enum class Tier { kEqual, kRounding, kPrecision, kStatistics, kAnother };
Tier tier_of(Effect effect);
std::optional<Tier> find_tier(std::string_view name);  // "equal", "rounding", "precision", "statistics", "another"

// How a block is treated of which nothing tells when a change lets it go: it goes when most such blocks do, or, to see
// how far that may be off, at once, or as late as without the change.
enum class UnknownEnd : std::uint8_t { kGuessed, kGoesAtOnce, kStays };

struct Forecast {
  std::vector<model::StagePeak> stage_peaks;
  double activation_scale = 1;      // what has been done to training activations: a block's share shrinks with it
  Bytes recomputed;                 // what checkpointing frees at the peak, before that scale
  Bytes offloaded;                  // what waits in host memory at the peak, before that scale
  double passes = 1;                // forward and backward, in one optimizer step
  bool accumulates = false;         // gradients are alive at every moment of a step
  double evaluation_batch = 1;      // what has been done to the batches of evaluations
  Bytes weights_brought;            // from host memory, in each forward of an evaluation
  bool one_sample_at_once = false;  // within an evaluation's network, whatever the batch
  double parameter_share = 1;       // of the gradients' bytes: a smaller network has fewer parameters
  double weight_share = 1;          // of the weights' bytes: the smallest of the types that techniques keep them in
  double gradient_share = 1;        // of the gradients' bytes: fewer weights are trained, or in another type
  double later_weights = 1;         // of the weights' bytes once training begins: until then they are whole
  double cache_scale = 1;           // of what PyTorch holds in reserve
  // What a stream of allocations is reshaped by (plan/stream), beside the above.
  const model::Change* repeats = nullptr;  // names the modules that are run again; of the axis, which outlives this
  bool releases_gradients = false;
  Bytes state_at_once;         // of the optimizer's, which is in host memory but for its steps; 0: it stays on the card
  Bytes parameters_at_once;    // whose state is there at once: so many, or one that is larger
  bool splits_within = false;  // a batch, in the network's forward: what the network puts out stays whole
  bool chunks_loss = false;
  Bytes loss_chunk;           // of logits; a batch that has no more of them at once is not worked out in chunks
  double training_batch = 1;  // what has been done to the batches of training
  bool expandable_segments = false;
  bool empties_cache = false;
  UnknownEnd unknown_end = UnknownEnd::kGuessed;
  double evaluation_graph = 1;     // what of an evaluation's activations no_grad was taken to leave
  std::string_view measured_with;  // the technique whose own run it begins from
  // Techniques that change no size, only when blocks come and go, each with a run of its own: what that run shows holds
  // for what is saved for backward (of what sizes, in what modules) as it was there, and for steps of the optimizer and
  // for evaluations whatever the batch.
  std::string_view saved_measured_with, step_measured_with, evaluation_measured_with;
  std::string_view evaluated_with;  // the technique that is in force in evaluations alone, as its run shows them
  // What was left of the inputs in that run, where it had smaller ones, and what is to be left. The same: as it ran.
  double inputs_left_measured = 1, inputs_left = 1;
  model::StepWork work;
  Effect effect = Effect::kSame;
  std::vector<std::string> consequences;  // for convergence and accuracy, a sentence each
  double uncertainty = 0.02;              // half-width, as a share of the peak
};

Forecast start_forecast(const model::Job& job);

// The technique whose own run shows best what becomes of a job by all that a forecast stands for; "": none.
std::string_view find_best_run(const Forecast& forecast);

Bytes scaled(Bytes bytes, double factor);
bool holds_graph(const model::StagePeak& moment);  // a training moment at which activations are alive

// A moment as the techniques left it, before what checkpointing and offloading free of it.
model::StagePeak settled(const Forecast& forecast, model::StagePeak moment);
// The weights at such a moment: some plans keep others once the weights are loaded.
Bytes weights_at(const Forecast& forecast, const model::StagePeak& settled);

// `share` of the samples (or of the pixels) at once: what grows with the batch shrinks with it.
void scale_batch(Forecast& forecast, std::string_view phase, double share);
// What an optimizer step asks of the card, with the way of what is offloaded to the host and back.
model::StepWork find_work(const Forecast& forecast);
void scale_work(model::StepWork& work, double factor);
void halve_matmuls(model::Number half, model::StepWork& work);  // under autocast: nearly all of them
void worsen(Forecast& forecast, Effect effect, std::string consequence);

// What PyTorch held in reserve beyond the allocated peak when memory was plenty. Phases are not looked at one by one:
// evaluation inherits the cache that training leaves.
Bytes find_cache(const model::Job& job);

struct PhaseOutlook {
  std::string phase;
  Bytes peak;  // on the device, with the overhead, when PyTorch gives back what cache it can
  bool operator==(const PhaseOutlook&) const = default;
};

// What a card has to have, and what is taken of one with plenty: with the cache.
struct Need {
  Bytes needs, uses;
  bool operator==(const Need&) const = default;
};

struct Outlook {
  std::vector<PhaseOutlook> phases;
  Bytes needs;           // the largest of them: the smallest card it should run on
  Bytes uses;            // what it takes when memory is plenty: with the cache
  Bytes allocated = {};  // by tensors, at most; 0 where it was added up
  // The bytes on the device that have to be there at once, whatever the cache and without what one operator alone works
  // in, for which cuDNN has other algorithms; 0 where it was added up.
  Bytes least = {};
  MadeBy made_by = MadeBy::kAddedUp;
  // What it comes to if they all go at once, and if they all stay, where nothing tells when some of its blocks go.
  std::optional<Need> at_least = {}, at_most = {};
  // What it can't come to less or more than, on the device (forecast_bounds.h).
  Bytes floor = {};
  std::optional<Bytes> ceiling = {};
  bool operator==(const Outlook&) const = default;
};
Outlook add_up(const model::Job& job, const Forecast& forecast);

}  // namespace vramfit::plan

#endif
