// A report: one HTML file that needs nothing else, neither files nor a network.
#ifndef VRAMFIT_REPORT_PAGE_PAGE_H
#define VRAMFIT_REPORT_PAGE_PAGE_H

#include <string>

#include "report/page/facts.h"

namespace vramfit::report::page {

std::string page_to_html(const PageFacts& facts);

}  // namespace vramfit::report::page

#endif
