// What is as large as a weight, whatever the batch: copies in half precision, which autocast makes in each pass, and
// what a gradient is added up from.
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

// Whether each block is one of two of which a gradient is added up: of a weight that several operators use (an
// embedding that is the last layer too), each of them makes one. They go once their sum is there, before anything else
// is made.
std::vector<bool> find_gradient_parts(const model::AllocationStream& stream);

}  // namespace vramfit::plan

#endif
