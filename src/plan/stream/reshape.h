// A recorded stream of allocations -> the stream that the job would have under a plan.
//
// Sizes are scaled by what a forecast makes of their owners at each moment. What techniques do to lives is done to
// them:
//
//   run again     forward  |--b--|......................            what a module kept to its backward goes with its
//                 backward                 |--b again--|            forward, and is made anew before its backward
//   offloaded     |--b--|                          |-b-|            comes back where it is due
//   accumulated   each pass comes as often as a step has micro-batches; gradients of the first stay, those of the
//   others
//                 are added to them and go (accumulation.h)
//   held in less  weights are made anew one by one before the first step
//   state waits   the optimizer's state comes in turns in each step, and goes
//   released      every gradient goes as soon as it is there
//   no graph      what an evaluation kept for no backward goes with the module around it (without_graph.h)
#ifndef VRAMFIT_PLAN_STREAM_RESHAPE_H
#define VRAMFIT_PLAN_STREAM_RESHAPE_H

#include <vramfit/numbers.h>

#include <array>
#include <cstdint>
#include <vector>

#include "model/allocation_stream.h"
#include "model/job.h"
#include "plan/forecast.h"

namespace vramfit::plan {

// When something happens: at an event of the recording, or, made by a plan, between two.
using PlayTime = std::uint64_t;

struct Life {
  PlayTime born = 0, died = 0;  // kNeverFreed: not in this run
  std::int64_t bytes = 0;
  std::uint8_t phase = 0;
  bool operator==(const Life&) const = default;
};
inline constexpr PlayTime kNeverFreed = ~PlayTime{0};

// The time of the event itself.
constexpr PlayTime at_event(model::StreamTime event) { return PlayTime{event} << 32 | PlayTime{1} << 31; }

// Times the bytes of now, by phase, stage and owner.
using Shares = std::array<std::array<std::array<double, model::kBlockOwnerCount>, 8>, 8>;

struct Reshaping {
  Shares shares{};
  std::vector<std::int32_t> repeated;  // modules of the stream
  bool keeps_products = false;         // of matrices and convolutions, in them until they are run again
  bool knows_all = true;               // the stream shows what each of them allocates
  bool as_asked = true;  // blocks are of what was asked for, where that is known (asked.h); else of what was given
  const std::vector<std::int64_t>* asked = nullptr;  // found before; null: it is found anew
  bool offloads = false;
  std::int64_t logits = 0;  // of a loss in chunks, which keeps them where they are; 0: none
  std::int64_t whole = 0;   // bytes of a network's outputs that stay whole, as what is as large stays; 0: none
  bool drops_evaluation_graphs = false;
  UnknownEnd unknown_end = UnknownEnd::kGuessed;
  // A run whose evaluations kept no graph: it shows when a forward needs a block last. Null where there is none but
  // the stream itself.
  const model::AllocationStream* without_graph = nullptr;
  // The job's own run and that with activations in host memory, which show how often each comes back, and for how long
  // (returns.h). Null where there is none.
  const model::AllocationStream* own = nullptr;
  const model::AllocationStream* offloaded = nullptr;
  int micro_batches = 1;  // whose gradients are added up, in a step
  bool releases_gradients = false;
  std::int64_t state_at_once = 0;       // of the optimizer's state, which waits in host memory; 0: it stays
  std::int64_t parameters_at_once = 0;  // whose state is there at once: so many bytes, or one that is larger
  std::vector<bool> of_weights;         // by block: a copy of a weight, as large whatever the batch; empty: none is
  double later_weights = 1;             // of weights that were there before the first step, from then on
};

// `begun`: of the run that the stream is of.
Reshaping find_reshaping(const model::Job& job, const Forecast& forecast, const Forecast& begun,
                         const model::AllocationStream& stream);

std::vector<Life> reshape(const model::AllocationStream& stream, const Reshaping& reshaping);

}  // namespace vramfit::plan

#endif
