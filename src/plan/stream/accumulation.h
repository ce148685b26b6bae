// Gradients that are added up: what a pass of a recorded step allocates is allocated again for each further
// micro-batch.
#ifndef VRAMFIT_PLAN_STREAM_ACCUMULATION_H
#define VRAMFIT_PLAN_STREAM_ACCUMULATION_H

#include <vector>

#include "plan/stream/reshape.h"

namespace vramfit::plan {

// Times made within the moment of a pass' last event that come after all of its micro-batches.
inline constexpr PlayTime kAfterMicroBatches = PlayTime{1} << 30;

// `count` micro-batches in a step, of which the recorded pass is the first. `lives` are those of the stream's blocks,
// and behind them those that other techniques made.
void add_micro_batches(const model::AllocationStream& stream, int count, std::vector<Life>& lives);

}  // namespace vramfit::plan

#endif
