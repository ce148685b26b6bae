// A run that is going: its memory as it grows. live.js fills it and keeps asking.
#ifndef VRAMFIT_REPORT_SITE_LIVE_PAGE_H
#define VRAMFIT_REPORT_SITE_LIVE_PAGE_H

#include <string>
#include <vector>

#include "model/live_run.h"
#include "model/stored_run.h"

namespace vramfit::report::site {

std::string live_page(const model::StoredRun& run, const std::vector<model::LiveCard>& cards,
                      const std::string& version);

}  // namespace vramfit::report::site

#endif
