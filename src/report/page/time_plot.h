// The plane on which pictures show memory over time: seconds to the right, bytes up.
#ifndef VRAMFIT_REPORT_PAGE_TIME_PLOT_H
#define VRAMFIT_REPORT_PAGE_TIME_PLOT_H

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace vramfit::report::page {

// The plot in the picture's own units, which the page scales; `left` to `bottom` are margins.
struct TimePlot {
  double width, height;
  double left, right, top, bottom;
  double seconds = 1, most_bytes = 1;  // at the far ends of the axes
  double last_x() const { return width - right; }
  double x(double at) const { return left + (last_x() - left) * at / seconds; }
  double y(base::Bytes bytes) const {
    return height - bottom - (height - top - bottom) * static_cast<double>(bytes.count()) / most_bytes;
  }
};

// Lines across with their bytes, and about so many round seconds.
std::string draw_axes(const TimePlot& plot, const std::vector<base::Bytes>& ticks, int times);

// What is known from a moment on, until the next.
struct LevelAt {
  double seconds = 0;
  std::optional<base::Bytes> level;
};

// A stretch of time throughout which a level is known. Memory stays where it is until the next point.
struct KnownStretch {
  double from_x = 0;
  std::string path;
};

std::vector<KnownStretch> stretches(const TimePlot& plot, const std::vector<LevelAt>& points);

// All of them as one path; where nothing is known there is a gap.
std::string path_of(const std::vector<KnownStretch>& known);

}  // namespace vramfit::report::page

#endif
