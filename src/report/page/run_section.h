// One run: verdict, facts, timeline, the peak, lines, phases, cards, remarks.
#ifndef VRAMFIT_REPORT_PAGE_RUN_SECTION_H
#define VRAMFIT_REPORT_PAGE_RUN_SECTION_H

#include <string>

#include "report/page/facts.h"

namespace vramfit::report::page {

// One sentence, without a mark: what came of it.
std::string verdict_sentence(const ShownRun& run);

// The parts below the verdict have headings of level + 1.
std::string run_section(const ShownRun& run, int level);

}  // namespace vramfit::report::page

#endif
