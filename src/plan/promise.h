// What each technique promises of the training: how far it may take it from the job as it is.
#ifndef VRAMFIT_PLAN_PROMISE_H
#define VRAMFIT_PLAN_PROMISE_H

#include <string>
#include <string_view>

#include "model/equivalence.h"
#include "model/plan.h"

namespace vramfit::plan {

// Shares are of the size of an update (docs/habits.md): sums in another order were seen below 1e-6.
inline constexpr double kRoundingShare = 1e-3;
inline constexpr double kFp16Share = 0.05;
inline constexpr double kBf16Share = 0.25;
inline constexpr double kInt8Share = 0.25;  // of outputs, by weights of 8 bits
inline constexpr double kInt4Share = 0.5;   // of 4 bits

struct Promise {
  model::Sameness at_most = model::Sameness::kEqual;
  double share = kRoundingShare;  // that updates may differ by
  bool exact = true;           // by the way it is made, whatever the loop is like: a comparison would tell nothing new
  std::string meant;           // another training on purpose: "inputs of another size"; empty: it is to train the same
  bool mixes_samples = false;  // batch statistics are taken over fewer samples
  bool rescales_gradients = false;  // a step may be given them scaled: they are not compared
  double outputs = 0;               // share that an evaluation's outputs may differ by; 0: they are as they were
  bool rounds_weights = false;      // before the first step already

  bool operator==(const Promise&) const = default;
};

// Moments of Adam in 8 bits, which bitsandbytes keeps.
bool is_eight_bit(const model::Change& change);
// Whether it gives a batch in parts whose gradients add up to one step.
bool accumulates(const model::Change& change);

// A technique that is not in the table has to be compared: nothing is known of it.
Promise find_promise(const model::Change& change);
// The weakest of what its changes promise.
Promise find_promise(const model::Plan& plan);

// Why values that are computed without a card don't show what the plan does to the training; empty: they do.
std::string find_unseen(const model::Plan& plan);

// What a script's own autocast to "float16" or "bfloat16" rounds already; 0 for other types.
double rounding_share_of(std::string_view type);

}  // namespace vramfit::plan

#endif
