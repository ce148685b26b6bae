// What one training step asks of a card, counted in the recordings.
#ifndef VRAMFIT_FACTS_STEP_WORK_H
#define VRAMFIT_FACTS_STEP_WORK_H

#include <map>
#include <span>

#include "model/job.h"

namespace vramfit::model {
struct Recording;
}

namespace vramfit::facts {

// The work of each device's last whole step, as the first ones create optimizer state and try algorithms. Where no step
// came to its end: what was done of one. Of a job that only evaluates a step is a batch.
std::map<int, model::StepWork> count_step_work(std::span<const model::Recording> recordings);

}  // namespace vramfit::facts

#endif
