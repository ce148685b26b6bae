// What a training shows as a whole, of a dozen steps or more: whether what its steps leave behind rises, or what they
// need.
#ifndef VRAMFIT_LIVENESS_WHOLE_GROWTH_H
#define VRAMFIT_LIVENESS_WHOLE_GROWTH_H

#include "liveness/step_series.h"
#include "model/runtime_evidence.h"

namespace vramfit::liveness {

// What a few steps in a row seem to show gives way to what the whole of a training does.
void judge_whole(const CardHistory& history, const StepSeries& series, const model::Recording& recording,
                 model::Growth& growth);

// The same of calls of a model, each of which is a pass. False: nothing is kept; longer texts need more, and end.
bool judge_calls(const CardHistory& history, const StepSeries& calls, const model::Recording& recording,
                 model::Growth& growth);

}  // namespace vramfit::liveness

#endif
