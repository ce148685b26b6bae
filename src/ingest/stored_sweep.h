// A stored sweep (what `vramfit sweep --json` writes) back as the values that it was written from.
#ifndef VRAMFIT_INGEST_STORED_SWEEP_H
#define VRAMFIT_INGEST_STORED_SWEEP_H

#include <string_view>

#include "base/error.h"
#include "model/sweep.h"

namespace vramfit::ingest {

// Reads of the definition what the file has: cards, command, variables and goal.
base::Result<model::SweepResult> read_stored_sweep(std::string_view json);

}  // namespace vramfit::ingest

#endif
