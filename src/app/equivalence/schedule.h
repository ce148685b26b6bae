// What a script's schedule decides, in two runs of a job: how many steps its optimizers take, with which options, after
// how many samples.
#ifndef VRAMFIT_APP_EQUIVALENCE_SCHEDULE_H
#define VRAMFIT_APP_EQUIVALENCE_SCHEDULE_H

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "facts/training_record.h"
#include "plan/promise.h"

namespace vramfit::app {

// The steps that each optimizer took.
std::map<int, int> count_steps(const facts::TrainingRecord& record);

// Differences, a phrase each: "3 optimizer steps instead of 4", "the learning rate in step 2 is 0.1 instead of 0.05".
std::vector<std::string> compare_counts(const facts::TrainingRecord& without, const facts::TrainingRecord& with);
std::vector<std::string> compare_options(const facts::TrainingRecord& without, const facts::TrainingRecord& with);

// The first step that comes after another number of samples: of numbers that differ, why. A trainer that draws its
// batches ahead counts otherwise, and trains the same.
std::optional<std::string> compare_samples(const facts::TrainingRecord& without, const facts::TrainingRecord& with);

// Whether both runs began with the same weights, where the plan does not round them, and had seen the same samples at
// each step.
bool saw_the_same(const facts::TrainingRecord& without, const facts::TrainingRecord& with,
                  const plan::Promise& promise);

}  // namespace vramfit::app

#endif
