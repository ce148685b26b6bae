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

// By device. Of the last whole step: the first ones create optimizer state and try algorithms. Of a run that came to
// the end of none, what it got to.
std::map<int, model::StepWork> count_step_work(std::span<const model::Recording> recordings);

}  // namespace vramfit::facts

#endif
