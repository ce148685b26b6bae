// Two runs of a job by what the first forwards of its evaluation put out: does it evaluate the same with the plan?
#ifndef VRAMFIT_APP_EQUIVALENCE_COMPARE_OUTPUTS_H
#define VRAMFIT_APP_EQUIVALENCE_COMPARE_OUTPUTS_H

#include "facts/training_record.h"
#include "model/equivalence.h"

namespace vramfit::app {

// `share`: that outputs may differ by.
model::Equivalence compare_outputs(const facts::TrainingRecord& without, const facts::TrainingRecord& with,
                                   double share);

}  // namespace vramfit::app

#endif
