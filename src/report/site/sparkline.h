// How the peaks of runs went, small enough for a row of a list.
//
//      __o      a line a peak, a gap where a run told of none; a cross is a run that ran out of memory;
//   __/         the disc is the last one
#ifndef VRAMFIT_REPORT_SITE_SPARKLINE_H
#define VRAMFIT_REPORT_SITE_SPARKLINE_H

#include <string>

#include "model/peak_series.h"

namespace vramfit::report::site {

inline constexpr std::size_t kSparklinePoints = 20;

// The last of the series' points up to that of run `last`, and at most kSparklinePoints of them. All have the scale of
// the whole series, from 0 on, so that rows can be compared. Empty where fewer than two peaks are known.
std::string sparkline(const model::PeakSeries& series, std::int64_t last);
// Draws the newest so many peaks of the series.
std::string sparkline(const model::PeakSeries& series);

}  // namespace vramfit::report::site

#endif
