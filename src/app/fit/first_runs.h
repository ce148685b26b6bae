// The runs before a search: the job as it is, and the job with all the memory it wants.
#ifndef VRAMFIT_APP_FIT_FIRST_RUNS_H
#define VRAMFIT_APP_FIT_FIRST_RUNS_H

#include <optional>

#include "app/fit/context.h"
#include "model/job.h"

namespace vramfit::app {

// Whether no job of PyTorch begins on one of the cards: smaller than its context.
bool is_card_too_small(FitContext& fit);

// The job as it is. True when there is something to do: it ran out of memory.
base::Result<bool> run_as_is(FitContext& fit);

// The job's facts, from a run that memory does not stop; nothing when even that run did not work.
base::Result<std::optional<model::Job>> run_free(FitContext& fit);

}  // namespace vramfit::app

#endif
