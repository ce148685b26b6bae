// The use case behind `vramfit verify`: a job's first steps with a plan beside those without.
#ifndef VRAMFIT_APP_VERIFY_H
#define VRAMFIT_APP_VERIFY_H

#include "base/clock.h"
#include "base/error.h"
#include "base/progress.h"
#include "job/run.h"
#include "model/equivalence.h"

namespace vramfit::app {

// `request.plan` is the file of the plan. Virtual cards only.
base::Result<model::VerifyResult> verify(const job::RunRequest& request, job::Runner& runner,
                                         base::ProgressSink& progress, const base::Clock& clock);

}  // namespace vramfit::app

#endif
