// The stream of a job whose inputs are of a size between two at which it ran, block by block.
#ifndef VRAMFIT_PLAN_STREAM_BETWEEN_H
#define VRAMFIT_PLAN_STREAM_BETWEEN_H

#include "model/allocation_stream.h"

namespace vramfit::plan {

// What is left of a size when the inputs shrink to `scale`, of which a run at `measured` left `share`: a part that
// stays, one that goes with the inputs, one with their square (the scores of an attention).
double share_between(double scale, double measured, double share);

// The stream `whole` as it would be at `scale` of its pixels or its length. Each block gets the size that follows from
// its own and from that of its counterpart in `shrunk`, a run at the scale `measured`. A block's counterpart has the
// same module, phase, stage and owner, is a product if the block is, is kept for a backward if the block is, and comes
// at the same place among those that are alike. Where one run has more of these than the other, each shrinks by the
// share by which all of them together did.
model::AllocationStream stream_between(const model::AllocationStream& whole, const model::AllocationStream& shrunk,
                                       double scale, double measured);

}  // namespace vramfit::plan

#endif
