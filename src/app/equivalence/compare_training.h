// Two runs of a job by their first optimizer steps: does the plan train the same?
#ifndef VRAMFIT_APP_EQUIVALENCE_COMPARE_TRAINING_H
#define VRAMFIT_APP_EQUIVALENCE_COMPARE_TRAINING_H

#include "facts/training_record.h"
#include "model/equivalence.h"
#include "plan/promise.h"

namespace vramfit::app {

// Differences in the numbers of two runs that did not see the same numbers say nothing: then the answer is
// kNotChecked.
model::Equivalence compare_training(const facts::TrainingRecord& without, const facts::TrainingRecord& with,
                                    const plan::Promise& promise);

}  // namespace vramfit::app

#endif
