// The memory of several runs over time in one picture: a line a run, all from the moment at which each began.
//
//   GiB |      ____ run 1        Which measure is drawn (everything on the card, reserved, allocated), which runs and
//    4 -|   __/   ____ run 2     what span of time is chosen on the page; without scripts it is one that all know, and
//       |__/_____/               the whole. What a run does not tell is a gap.
//       +------------------> s
#ifndef VRAMFIT_REPORT_PAGE_OVERLAY_CHART_H
#define VRAMFIT_REPORT_PAGE_OVERLAY_CHART_H

#include <string>
#include <vector>

#include "report/page/facts.h"

namespace vramfit::report::page {

// Draws each run's fullest card. Empty where fewer than two runs have memory over time.
std::string overlay_chart(const std::vector<ShownRun>& runs);

}  // namespace vramfit::report::page

#endif
