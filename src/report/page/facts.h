// What a page shows: everything is worked out before it gets here.
#ifndef VRAMFIT_REPORT_PAGE_FACTS_H
#define VRAMFIT_REPORT_PAGE_FACTS_H

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "model/comparison.h"
#include "model/finding.h"
#include "model/fit_result.h"
#include "model/run_result.h"
#include "model/stored_run.h"
#include "report/page/flame_facts.h"
#include "report/page/sweep_facts.h"
#include "report/page/trace_facts.h"

namespace vramfit::report::page {

// Rows of one card that have one owner, added up.
struct OwnerTotal {
  std::string owner;
  int device = 0;
  base::Bytes bytes;
  std::int64_t blocks = 0;
  friend bool operator==(const OwnerTotal&, const OwnerTotal&) = default;
};

struct ShownRun {
  model::StoredRun stored;
  std::optional<model::RunResult> result;     // none: it has none, or not one of a run (see `unreadable`)
  std::optional<SweepFacts> sweep;            // of `vramfit sweep`; it has no result of one run
  std::optional<model::Diagnosis> diagnosis;  // of `vramfit doctor`; it has no result of one run
  std::optional<model::FitResult> fit;        // of `vramfit fit`; its as_is is `result`
  std::string unreadable;                     // why a stored result could not be shown; empty: it could
  std::vector<OwnerTotal> owners;             // by card, largest first
  std::vector<FlameFacts> flames;             // of the peak
  std::vector<std::size_t> front;             // of fit->plans: those that stand in fit->front too
};

struct PageFacts {
  std::vector<ShownRun> runs;
  std::vector<TraceFacts> traces;               // of memory snapshots, below the runs
  std::optional<model::Comparison> comparison;  // of several runs
  bool is_confidential = false;                 // says so; what is to be left out is left out already
  std::string version;                          // of vramfit
  std::string home;                             // where a link to all runs leads; empty: there is none
};

}  // namespace vramfit::report::page

#endif
