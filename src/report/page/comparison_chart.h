// What held the peak of several runs, side by side: a bar a run, in the colours of all pictures of owners.
//
//   run 1 |weights|gradients|activations        |cached|  ¦ 7.2 GiB      ¦ the card's memory
//   run 2 |weights|gradients|activations|                  ¦ 4.1 GiB
//         0        2         4         6         8 GiB
#ifndef VRAMFIT_REPORT_PAGE_COMPARISON_CHART_H
#define VRAMFIT_REPORT_PAGE_COMPARISON_CHART_H

#include <string>
#include <vector>

#include "report/page/facts.h"

namespace vramfit::report::page {

// Draws each run's fullest card. Empty where fewer than two runs know what held their peak.
std::string comparison_chart(const std::vector<ShownRun>& runs);

}  // namespace vramfit::report::page

#endif
