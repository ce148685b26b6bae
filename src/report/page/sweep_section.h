// What a sweep found: its answers, its maps or lines, and every trial with the run that proves it.
#ifndef VRAMFIT_REPORT_PAGE_SWEEP_SECTION_H
#define VRAMFIT_REPORT_PAGE_SWEEP_SECTION_H

#include <string>

#include "report/page/sweep_facts.h"

namespace vramfit::report::page {

// `run` is the sweep's own number; `level` that of its headings.
std::string sweep_section(const SweepFacts& facts, std::int64_t run, int level);

}  // namespace vramfit::report::page

#endif
