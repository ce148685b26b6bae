// Copies of weights in half precision, which autocast makes in each pass: activations that do not go with the batch.
#ifndef VRAMFIT_PLAN_STREAM_WEIGHT_COPIES_H
#define VRAMFIT_PLAN_STREAM_WEIGHT_COPIES_H

#include <vector>

#include "model/allocation_stream.h"

namespace vramfit::plan {

// Whether each block of `with` is one, or its gradient. `without`: the same job's stream without autocast. What a
// module keeps more than there, of half a weight's size, is a copy.
std::vector<bool> find_weight_copies(const model::AllocationStream& with, const model::AllocationStream& without);

// The copies of a script that runs under autocast itself: for each weight, what is nearest to half its size of what a
// pass keeps.
std::vector<bool> find_weight_copies(const model::AllocationStream& stream);

}  // namespace vramfit::plan

#endif
