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

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/run_result.h"

namespace vramfit::report::page {

// What is known of a card from a moment on, until the next point. Nothing: not known, and nothing is drawn then.
struct LevelPoint {
  std::int64_t at_ns = 0;
  std::string phase;
  std::optional<base::Bytes> allocated, reserved, used;
  std::string mark;
};

// Empty where there are fewer than two points, or no level in any. `total` is the card's memory (0: not known).
// `title` heads picture and table, plain text. There are two pictures: a slim one is for telephones, where letters of
// the wide one would be too small to read; page.css shows either.
std::string timeline_chart(std::vector<LevelPoint> points, base::Bytes total, const std::string& title);

// Empty where the run has no points of that card.
std::string timeline_chart(const model::RunResult& result, const model::DeviceResult& device, const std::string& title);

}  // namespace vramfit::report::page

#endif
