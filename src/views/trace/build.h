// A memory snapshot as what a page shows of it.
#ifndef VRAMFIT_VIEWS_TRACE_BUILD_H
#define VRAMFIT_VIEWS_TRACE_BUILD_H

#include <string>

#include "base/progress.h"
#include "model/snapshot.h"
#include "report/page/trace_facts.h"
#include "views/trace/stops.h"

namespace vramfit::views::report_trace {

struct TraceRequest {
  std::string name;              // of the file, as the page shows it
  bool is_confidential = false;  // no stacks, no lines, no phases, no name
  Budget budget;                 // of the whole file: its cards share it
};

report::page::TraceFacts build_trace(const model::Snapshot& snapshot, const TraceRequest& request,
                                     base::ProgressSink& progress);

}  // namespace vramfit::views::report_trace

#endif
