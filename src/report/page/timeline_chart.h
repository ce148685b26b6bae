// The memory of one card over the time of a run, as a picture and as a table.
//
//   GiB |  load |      train        | validate
//    8 -|- - - - - - - - - - - - - - - - - - -   the card's limit
//       |        ..............................  everything on the card, where that is known
//       |        ______________________________  reserved
//    4 -|     __/  /\  /\  /\   .
//       |____/  __/  \/  \/  \____/\____/\_____  allocated
//       +---------------------------------------> s
#ifndef VRAMFIT_REPORT_PAGE_TIMELINE_CHART_H
#define VRAMFIT_REPORT_PAGE_TIMELINE_CHART_H

#include <string>

#include "model/run_result.h"

namespace vramfit::report::page {

// Empty where the run has no points of that card. `title` heads picture and table, plain text.
std::string timeline_chart(const model::RunResult& result, const model::DeviceResult& device, const std::string& title);

}  // namespace vramfit::report::page

#endif
