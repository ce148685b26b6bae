// Two runs of a job, without a plan and with it: does the plan train, or evaluate, the same?
//
//   compare_runs --+--> compare_training --+--> schedule   how many steps, with which options, after how many samples
//                  |                       '--> numbers    gradients, buffers, averages, updates of the weights
//                  '--> compare_outputs                    of the first forwards of an evaluation
#ifndef VRAMFIT_APP_EQUIVALENCE_EQUIVALENCE_H
#define VRAMFIT_APP_EQUIVALENCE_EQUIVALENCE_H

#include <string>
#include <string_view>

#include "facts/training_record.h"
#include "model/equivalence.h"
#include "plan/promise.h"

namespace vramfit::app {

// Compares jobs and plans of either kind: the training, what an evaluation puts out, or both. Outputs are asked for
// where the plan touches them, and where nothing is trained.
model::Equivalence compare_runs(const facts::TrainingRecord& without, const facts::TrainingRecord& with,
                                const plan::Promise& promise);

model::Equivalence not_compared(std::string why);
// The answer for a plan that changes the training on purpose, and what else is known of it: `known` begins with "; ",
// or is empty.
model::Equivalence trains_otherwise(std::string_view meant, std::string_view known);

}  // namespace vramfit::app

#endif
