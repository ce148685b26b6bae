// A sweep's trials with the numbers of their runs, for its page.
#ifndef VRAMFIT_VIEWS_SWEEP_FACTS_H
#define VRAMFIT_VIEWS_SWEEP_FACTS_H

#include "history/history.h"
#include "model/sweep.h"
#include "report/page/sweep_facts.h"

namespace vramfit::views {

// `find` may be empty: the numbers are not told.
report::page::SweepFacts build_sweep_facts(model::SweepResult result, const history::FindRun& find);

}  // namespace vramfit::views

#endif
