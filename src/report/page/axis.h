// Round numbers for the axis of a chart.
#ifndef VRAMFIT_REPORT_PAGE_AXIS_H
#define VRAMFIT_REPORT_PAGE_AXIS_H

#include <string>
#include <vector>

#include "base/bytes.h"

namespace vramfit::report::page {

inline constexpr double kLetter = 7.2;  // width of one, about, at the charts' text size

// From 0 in steps of 1, 2 or 5 times a power of ten (of a binary unit for bytes), past `most`, about `count` of them.
std::vector<double> round_ticks(double most, int count);
std::vector<base::Bytes> byte_ticks(base::Bytes most, int count);
std::string tick_text(base::Bytes bytes);

}  // namespace vramfit::report::page

#endif
