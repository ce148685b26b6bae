// The largest batch of the training that fits a card, to the sample: it was run, and so was one sample more, which did
// not fit.
//
//   1 the predicted size is run     2 from there up or down in growing strides     3 bisection between the last two
#ifndef VRAMFIT_PLAN_SEARCH_LARGEST_BATCH_H
#define VRAMFIT_PLAN_SEARCH_LARGEST_BATCH_H

#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.h"
#include "plan/search/search.h"

namespace vramfit::plan {

struct LargestBatch {
  // kCheapestProven: `best` is the largest. kNothingFits: not even one sample does. Otherwise larger ones may fit.
  Ending ending = Ending::kNothingFits;
  std::vector<PlanTrial> trials;  // in the order in which they were run
  std::optional<std::size_t> best;
  bool is_all_data = false;  // it holds all the samples of a pass
  std::optional<base::Error> error;
};

// The job must have a training loader with a fixed batch size (effective_batch's applies_to).
LargestBatch find_largest_batch(const model::Job& job, const Target& target, Prover& prover, double budget_seconds,
                                const base::Clock& clock, const OnTrial& on_trial = {});

}  // namespace vramfit::plan

#endif
