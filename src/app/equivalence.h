// Two runs of a job, without a plan and with it, by their first optimizer steps: does the plan train the same?
#ifndef VRAMFIT_APP_EQUIVALENCE_H
#define VRAMFIT_APP_EQUIVALENCE_H

#include "facts/training_record.h"
#include "model/equivalence.h"
#include "plan/promise.h"

namespace vramfit::app {

// Differences in the numbers of two runs that did not see the same numbers say nothing: then the answer is
// kNotChecked.
model::Equivalence compare_training(const facts::TrainingRecord& without, const facts::TrainingRecord& with,
                                    const plan::Promise& promise);

// Of jobs and plans of either kind: the training, what an evaluation puts out, or both. Outputs are asked for where the
// plan touches them, and where nothing is trained.
model::Equivalence compare_runs(const facts::TrainingRecord& without, const facts::TrainingRecord& with,
                                const plan::Promise& promise);

// Whether both runs began with the same weights and had seen the same samples at each step.
bool saw_the_same(const facts::TrainingRecord& without, const facts::TrainingRecord& with);

// By optimizer, how many steps it took.
std::map<int, int> count_steps(const facts::TrainingRecord& record);

model::Equivalence not_compared(std::string why);

}  // namespace vramfit::app

#endif
