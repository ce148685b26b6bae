// Flame graphs of one card of a run: what held the peak, by module and by line.
#ifndef VRAMFIT_REPORT_PAGE_FLAME_CHART_H
#define VRAMFIT_REPORT_PAGE_FLAME_CHART_H

#include <string>
#include <vector>

#include "report/page/flame_facts.h"

namespace vramfit::report::page {

// Draws the flame graphs of `device`; empty without any. A script draws them: the page's tables hold the same numbers.
std::string flame_chart(const std::vector<FlameFacts>& flames, int device, const std::string& title);

}  // namespace vramfit::report::page

#endif
