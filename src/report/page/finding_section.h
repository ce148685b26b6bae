// What `vramfit doctor` found: causes with their evidence and what cures them, and what was checked.
#ifndef VRAMFIT_REPORT_PAGE_FINDING_SECTION_H
#define VRAMFIT_REPORT_PAGE_FINDING_SECTION_H

#include <string>

#include "model/finding.h"

namespace vramfit::report::page {

// `level` is that of its headings.
std::string finding_section(const model::Diagnosis& diagnosis, int level);

}  // namespace vramfit::report::page

#endif
