// A stored sweep (what `vramfit sweep --json` writes) back as the values that it was written from.
#ifndef VRAMFIT_APP_REPORT_SWEEP_H
#define VRAMFIT_APP_REPORT_SWEEP_H

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "model/sweep.h"
#include "report/page/sweep_facts.h"

namespace vramfit::app {

// Of the definition what the file has: cards, command, variables and goal.
base::Result<model::SweepResult> read_stored_sweep(std::string_view json);

// The number here of a run by its uuid; 0: there is none.
using FindRun = std::function<std::int64_t(std::string_view uuid)>;

// Its trials with their numbers; `find` may be empty.
report::page::SweepFacts build_sweep_facts(model::SweepResult result, const FindRun& find);

}  // namespace vramfit::app

#endif
