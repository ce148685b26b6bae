// A stream of training by one run and of the evaluations behind it by another.
#ifndef VRAMFIT_PLAN_STREAM_SPLICED_H
#define VRAMFIT_PLAN_STREAM_SPLICED_H

#include <optional>

#include "model/allocation_stream.h"

namespace vramfit::plan {

// All of `training` to the end of its last optimizer step, then what `evaluating` has behind its own. What is held from
// one to the other goes when its fellow goes. Nothing where one of them trains again after it has evaluated.
std::optional<model::AllocationStream> splice_evaluations(const model::AllocationStream& training,
                                                          const model::AllocationStream& evaluating);

}  // namespace vramfit::plan

#endif
