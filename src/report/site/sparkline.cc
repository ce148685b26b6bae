#include "report/site/sparkline.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "report/page/html.h"

namespace vramfit::report::site {

using base::Bytes;
using model::PeakPoint;

namespace {

constexpr double kSparkWidth = 104, kSparkHeight = 22, kSparkMargin = 4;

struct SparkScale {
  std::size_t count = 1;
  Bytes most;
  double x(std::size_t place) const {
    const double step = (kSparkWidth - 2 * kSparkMargin) / (kSparklinePoints - 1);
    return kSparkWidth - kSparkMargin - step * static_cast<double>(count - 1 - place);  // the last one is on the right
  }
  double y(Bytes peak) const {
    const double share =
        static_cast<double>(peak.count()) / static_cast<double>(std::max<std::int64_t>(1, most.count()));
    return kSparkHeight - kSparkMargin - (kSparkHeight - 2 * kSparkMargin) * share;
  }
};

std::string draw_line(std::span<const PeakPoint> points, const SparkScale& scale) {
  std::string path;
  bool goes_on = false;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].peak) {
      path += fmt::format("{}{:.1f} {:.1f}", goes_on ? 'L' : 'M', scale.x(i), scale.y(*points[i].peak));
    }
    goes_on = points[i].peak.has_value();
  }
  return fmt::format("<path class=\"spark-line\" d=\"{}\"/>", path);
}

std::string draw_marks(std::span<const PeakPoint> points, const SparkScale& scale) {
  std::string svg;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i].peak) continue;
    const double x = scale.x(i), y = scale.y(*points[i].peak);
    const bool is_alone = (i == 0 || !points[i - 1].peak) && (i + 1 == points.size() || !points[i + 1].peak);
    if (points[i].ran_out) {
      svg += fmt::format("<path class=\"spark-lost\" d=\"M{:.1f} {:.1f}l5 5m-5 0l5 -5\"/>", x - 2.5, y - 2.5);
    } else if (i + 1 == points.size() || is_alone) {
      svg += fmt::format("<circle class=\"spark-now\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>", x, y,
                         i + 1 == points.size() ? 3 : 1.5);
    }
  }
  return svg;
}

// "peaks of 5 runs of train.py, from 2.10 GiB to 3.40 GiB, the last one 3.40 GiB"
std::string spoken(std::span<const PeakPoint> points, const std::string& title) {
  std::optional<Bytes> least, most;
  for (const PeakPoint& point : points) {
    if (!point.peak) continue;
    least = std::min(least.value_or(*point.peak), *point.peak);
    most = std::max(most.value_or(*point.peak), *point.peak);
  }
  const auto& last = points.back().peak;
  return fmt::format("peaks of {} runs of {}, from {} to {}, the last one {}", points.size(), title, to_string(*least),
                     to_string(*most), last ? to_string(*last) : "not known");
}

std::string draw(std::span<const PeakPoint> points, const model::PeakSeries& series) {
  if (std::ranges::count_if(points, [](const PeakPoint& point) { return point.peak.has_value(); }) < 2) return "";
  SparkScale scale{points.size(), Bytes()};
  for (const PeakPoint& point : series.points) scale.most = std::max(scale.most, point.peak.value_or(Bytes()));
  const std::string text = page::escape(spoken(points, series.title));
  return fmt::format(
      "<svg class=\"spark\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\"><title>{}</title>{}{}</svg>",
      kSparkWidth, kSparkHeight, text, text, draw_line(points, scale), draw_marks(points, scale));
}

std::span<const PeakPoint> newest(std::span<const PeakPoint> points) {
  return points.last(std::min(points.size(), kSparklinePoints));
}

}  // namespace

std::string sparkline(const model::PeakSeries& series, std::int64_t last) {
  const auto found = std::ranges::find(series.points, last, &PeakPoint::number);
  if (found == series.points.end()) return "";
  return draw(newest(std::span(series.points.begin(), std::next(found))), series);
}

std::string sparkline(const model::PeakSeries& series) { return draw(newest(series.points), series); }

}  // namespace vramfit::report::site
