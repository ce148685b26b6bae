// The runs before a search: the job as it is, and the job with all the memory it wants.
#ifndef VRAMFIT_APP_FIT_FIRST_RUNS_H
#define VRAMFIT_APP_FIT_FIRST_RUNS_H

#include <optional>

#include "app/fit/context.h"
#include "model/job.h"

namespace vramfit::app {

// Whether one of the cards is smaller than a CUDA context, so that no PyTorch job can even start on it.
bool is_card_too_small(FitContext& fit);

// Runs the job as it is. True: it ran out of memory, and a plan has to be looked for.
base::Result<bool> run_as_is(FitContext& fit);

// The facts of the job from a run with more memory than it can use. Nothing: even that run failed.
base::Result<std::optional<model::Job>> run_free(FitContext& fit);

}  // namespace vramfit::app

#endif
