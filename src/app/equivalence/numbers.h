// What the arithmetic of a training decides, in two runs of a job: gradients, buffers, averages and updates of weights.
#ifndef VRAMFIT_APP_EQUIVALENCE_NUMBERS_H
#define VRAMFIT_APP_EQUIVALENCE_NUMBERS_H

#include <string>
#include <vector>

#include "facts/training_record.h"
#include "plan/promise.h"

namespace vramfit::app {

struct ComparedNumbers {
  double gradient_distance = 0, update_distance = 0;  // as shares of their size
  std::vector<std::string> differences;               // beyond what was promised: "gradients differ by 12 %"
};

ComparedNumbers compare_numbers(const facts::TrainingRecord& without, const facts::TrainingRecord& with,
                                const plan::Promise& promise);

// The name of a tensor that is infinite or not a number; empty when there is none.
std::string find_not_finite(const facts::TrainingRecord& record);

}  // namespace vramfit::app

#endif
