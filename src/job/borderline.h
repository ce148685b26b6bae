// An allocation that missed by less than the uncertainty of the context says little: the job may want far more a moment
// later. So the job is run once more with that much more room, and only if it then runs to its end is it borderline.
#ifndef VRAMFIT_JOB_BORDERLINE_H
#define VRAMFIT_JOB_BORDERLINE_H

#include <functional>

#include "job/run.h"

namespace vramfit::job {

using RunOnce = std::function<base::Result<RunOutcome>(const RunRequest&)>;

// Runs the job again, quietly and with more room, where an OOM was judged borderline, and takes over what that shows.
void settle_borderline(const RunRequest& request, RunOutcome& outcome, const RunOnce& run_once);

}  // namespace vramfit::job

#endif
