// Round numbers for the axis of a chart.
#ifndef VRAMFIT_REPORT_PAGE_AXIS_H
#define VRAMFIT_REPORT_PAGE_AXIS_H

#include <string>
#include <vector>

#include "base/bytes.h"

namespace vramfit::report::page {

inline constexpr double kLetter = 7.2;  // width of one, about, at the charts' text size

// Ticks from 0 in steps of 1, 2 or 5 times a power of ten, past `most`, about `count` of them.
std::vector<double> round_ticks(double most, int count);
// The same in bytes: 1, 2 or 5 times 1, 10 or 100 of a binary unit, or a quarter or half of the next one. bytes.js
// counts as these do.
std::vector<base::Bytes> byte_ticks(base::Bytes most, int count);
std::string tick_text(base::Bytes bytes);  // of a tick of byte_ticks: at most two digits behind the point

}  // namespace vramfit::report::page

#endif
