// What held a card's memory at its fullest moment: a bar, its legend and the rows behind it.
#ifndef VRAMFIT_REPORT_PAGE_OWNERS_BAR_H
#define VRAMFIT_REPORT_PAGE_OWNERS_BAR_H

#include <string>

#include "report/page/facts.h"

namespace vramfit::report::page {

// Empty where nothing is known of that card. `title` is plain text.
std::string owners_bar(const ShownRun& run, int device, const std::string& title);

}  // namespace vramfit::report::page

#endif
