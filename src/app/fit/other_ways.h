// What there is besides plans: other cards, and edits of the script.
#ifndef VRAMFIT_APP_FIT_OTHER_WAYS_H
#define VRAMFIT_APP_FIT_OTHER_WAYS_H

#include "app/fit/context.h"
#include "model/job.h"

namespace vramfit::app {

// Finds other cards on which the job would run as it is or with the best plan, and, if nothing fits, the floor.
void look_at_hardware(FitContext& fit, const model::Job& job);

// If no plan fits, or every plan changes the training, says what an edit of the script would free.
void advise(FitContext& fit, const model::Job& job);

}  // namespace vramfit::app

#endif
