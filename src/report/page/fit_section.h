// What `vramfit fit` found: the plans in their order, and peak against time as a picture.
#ifndef VRAMFIT_REPORT_PAGE_FIT_SECTION_H
#define VRAMFIT_REPORT_PAGE_FIT_SECTION_H

#include <string>

#include "report/page/facts.h"

namespace vramfit::report::page {

// `run` has a fit. `level` is that of its headings.
std::string fit_section(const ShownRun& run, int level);

}  // namespace vramfit::report::page

#endif
