// The use case behind `vramfit report`: stored runs as one page.
#ifndef VRAMFIT_APP_REPORT_H
#define VRAMFIT_APP_REPORT_H

#include <string>
#include <vector>

#include "model/stored_run.h"

namespace vramfit::app {

struct ReportRequest {
  bool is_confidential = false;
  std::string version;  // of vramfit
};

// The page's HTML. At least one run.
std::string build_report(std::vector<model::StoredRun> runs, const ReportRequest& request);

}  // namespace vramfit::app

#endif
