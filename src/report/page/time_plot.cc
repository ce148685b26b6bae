#include "report/page/time_plot.h"

#include <fmt/format.h>

#include "report/page/axis.h"

namespace vramfit::report::page {

using base::Bytes;

std::string draw_axes(const TimePlot& plot, const std::vector<Bytes>& ticks, int times) {
  std::string svg;
  for (const Bytes tick : ticks) {
    svg += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", plot.left,
                       plot.last_x(), plot.y(tick), plot.y(tick));
    svg += fmt::format("<text class=\"end\" x=\"{}\" y=\"{:.1f}\">{}</text>\n", plot.left - 8, plot.y(tick) + 4,
                       tick_text(tick));
  }
  for (const double tick : round_ticks(plot.seconds, times)) {
    if (tick > plot.seconds) break;
    svg += fmt::format("<text class=\"middle\" x=\"{:.1f}\" y=\"{}\">{:.4g} s</text>\n", plot.x(tick),
                       plot.height - plot.bottom + 20, tick);
  }
  return svg;
}

std::vector<KnownStretch> stretches(const TimePlot& plot, const std::vector<LevelAt>& points) {
  std::vector<KnownStretch> known;
  bool goes_on = false;
  for (const auto& [seconds, level] : points) {
    const double x = plot.x(seconds);
    if (goes_on) known.back().path += fmt::format("H{:.1f}", x);
    if (level && goes_on) known.back().path += fmt::format("V{:.1f}", plot.y(*level));
    if (level && !goes_on) known.push_back({x, fmt::format("M{:.1f} {:.1f}", x, plot.y(*level))});
    goes_on = level.has_value();
  }
  return known;
}

std::string path_of(const std::vector<KnownStretch>& known) {
  std::string path;
  for (const KnownStretch& one : known) path += one.path;
  return path;
}

}  // namespace vramfit::report::page
