// The use case behind `vramfit report`: stored runs as one page.
#ifndef VRAMFIT_VIEWS_REPORT_H
#define VRAMFIT_VIEWS_REPORT_H

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/progress.h"
#include "history/history.h"
#include "model/stored_run.h"

namespace vramfit::views {

struct ReportRequest {
  bool is_confidential = false;
  std::string version;  // of vramfit
  std::string home;     // where a link to all runs leads, and "runs/12" behind it to one; empty: there is none
  std::vector<std::string>* damage = nullptr;  // takes a sentence for each snapshot that could be read in part only
  history::FindRun find_run;                   // numbers of a sweep's trials; empty: they are not told
};

// The page's HTML. At least one run.
std::string build_report(std::vector<model::StoredRun> runs, const ReportRequest& request);

// Builds a page of runs and memory snapshots (torch.cuda.memory._dump_snapshot), at least one of either. A snapshot
// that is cut off gives what was complete; one that can't be read is an error.
base::Result<std::string> build_report(std::vector<model::StoredRun> runs,
                                       const std::vector<std::filesystem::path>& snapshots,
                                       const ReportRequest& request, base::ProgressSink& progress);

}  // namespace vramfit::views

#endif
