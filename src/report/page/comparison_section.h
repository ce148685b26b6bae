// Several runs side by side.
#ifndef VRAMFIT_REPORT_PAGE_COMPARISON_SECTION_H
#define VRAMFIT_REPORT_PAGE_COMPARISON_SECTION_H

#include <string>
#include <vector>

#include "model/comparison.h"
#include "report/page/facts.h"

namespace vramfit::report::page {

// `runs` are the same, as the page shows them.
std::string comparison_section(const model::Comparison& comparison, const std::vector<ShownRun>& runs, int level);

}  // namespace vramfit::report::page

#endif
