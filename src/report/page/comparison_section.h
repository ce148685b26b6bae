// Several runs side by side.
#ifndef VRAMFIT_REPORT_PAGE_COMPARISON_SECTION_H
#define VRAMFIT_REPORT_PAGE_COMPARISON_SECTION_H

#include <string>

#include "model/comparison.h"

namespace vramfit::report::page {

std::string comparison_section(const model::Comparison& comparison, int level);

}  // namespace vramfit::report::page

#endif
