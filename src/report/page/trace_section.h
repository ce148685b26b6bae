// A memory snapshot: memory over time, the allocator's map, and who holds what, at any instant.
#ifndef VRAMFIT_REPORT_PAGE_TRACE_SECTION_H
#define VRAMFIT_REPORT_PAGE_TRACE_SECTION_H

#include <string>

#include "report/page/trace_facts.h"

namespace vramfit::report::page {

// One sentence: the peak, and whether memory ran out.
std::string trace_sentence(const TraceFacts& trace);

// `number`: of the snapshot on this page, for names that must differ. The parts have headings from level on.
std::string trace_section(const TraceFacts& trace, int number, int level);

}  // namespace vramfit::report::page

#endif
