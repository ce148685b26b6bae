// The numbers of a card's trace, for the script that draws them.
#ifndef VRAMFIT_REPORT_PAGE_TRACE_DATA_H
#define VRAMFIT_REPORT_PAGE_TRACE_DATA_H

#include <string>

#include "report/page/trace_facts.h"

namespace vramfit::report::page {

// A <template>: shown by nothing but the script.
std::string trace_data(const CardTrace& card);
std::string tree_data(std::string_view name, const NameTree& tree);

}  // namespace vramfit::report::page

#endif
