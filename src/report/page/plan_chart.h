// Plans by what they cost: time of a training step to the right, memory upwards.
//
//   GiB |- - - - - - - - - - - the card's memory
//       |  1__     x 3
//       |     \__2              the line joins those that no other plan beats in both
//       +------------------> times as long
#ifndef VRAMFIT_REPORT_PAGE_PLAN_CHART_H
#define VRAMFIT_REPORT_PAGE_PLAN_CHART_H

#include <string>

#include "report/page/facts.h"

namespace vramfit::report::page {

// Empty without plans. Numbers are the rows of the plans' table, from 1 on.
std::string plan_chart(const ShownRun& run);

}  // namespace vramfit::report::page

#endif
