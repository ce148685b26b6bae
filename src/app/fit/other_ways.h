// What there is besides plans: other cards, and edits of the script.
#ifndef VRAMFIT_APP_FIT_OTHER_WAYS_H
#define VRAMFIT_APP_FIT_OTHER_WAYS_H

#include "app/fit/context.h"
#include "model/job.h"

namespace vramfit::app {

// Other cards, on which it would run as it is, and with the best plan; the floor, where nothing fits.
void look_at_hardware(FitContext& fit, const model::Job& job);

// Where every plan takes something from the training, or none fits, what an edit would free is of interest.
void advise(FitContext& fit, const model::Job& job);

}  // namespace vramfit::app

#endif
