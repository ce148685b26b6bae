#include "report/page/timeline_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/page/axis.h"
#include "report/page/html.h"
#include "report/page/time_plot.h"

namespace vramfit::report::page {

using base::Bytes;

namespace {

// The picture's own units; the page scales it.
constexpr double kTimelineWidth = 960, kTimelineSlimWidth = 370, kTimelineHeight = 320;
constexpr double kTimelineLeft = 76, kTimelineRight = 20, kTimelineTop = 30, kTimelineBottom = 44;

bool is_slim(const TimePlot& scale) { return scale.width < kTimelineWidth; }

double seconds_of(const LevelPoint& point, const LevelPoint& first) {
  return static_cast<double>(point.at_ns - first.at_ns) / 1e9;
}

using Level = std::optional<Bytes> LevelPoint::*;

bool is_known(const std::vector<LevelPoint>& points, Level level) {
  return std::ranges::any_of(points, [&](const LevelPoint& point) { return (point.*level).has_value(); });
}

std::vector<KnownStretch> stretches(const std::vector<LevelPoint>& points, const TimePlot& scale, Level level) {
  std::vector<LevelAt> levels;
  for (const LevelPoint& point : points) levels.push_back({seconds_of(point, points.front()), point.*level});
  return stretches(scale, levels);
}

std::string line_of(const std::vector<KnownStretch>& known, std::string_view css_class) {
  return known.empty() ? "" : fmt::format("<path class=\"{}\" d=\"{}\"/>\n", css_class, path_of(known));
}

std::string area_of(const std::vector<KnownStretch>& known, std::string_view css_class, double bottom) {
  std::string path;
  for (const KnownStretch& one : known) path += fmt::format("{}V{:.1f}H{:.1f}Z", one.path, bottom, one.from_x);
  return path.empty() ? "" : fmt::format("<path class=\"{}\" d=\"{}\"/>\n", css_class, path);
}

std::string draw_phases(const std::vector<LevelPoint>& points, const TimePlot& scale) {
  std::string svg;
  int band = 0;
  for (std::size_t i = 0; i < points.size(); ++band) {
    std::size_t end = i;
    while (end < points.size() && points[end].phase == points[i].phase) ++end;
    const double from = scale.x(seconds_of(points[i], points.front()));
    const double to = end < points.size() ? scale.x(seconds_of(points[end], points.front())) : scale.last_x();
    svg +=
        fmt::format("<rect class=\"phase phase-{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"/>\n", band % 2,
                    from, kTimelineTop, std::max(0.0, to - from), kTimelineHeight - kTimelineTop - kTimelineBottom);
    if (static_cast<double>(points[i].phase.size() + 1) * kLetter < to - from) {
      svg +=
          fmt::format("<text x=\"{:.1f}\" y=\"{}\">{}</text>\n", from + 4, kTimelineTop - 8, escape(points[i].phase));
    }
    i = end;
  }
  return svg;
}

// Draws the first of marks that would stand side by side; the table below the picture has all.
std::string draw_marks(const std::vector<LevelPoint>& points, const TimePlot& scale) {
  constexpr double kApart = 10;
  std::string svg;
  double drawn = -kApart;
  for (const LevelPoint& point : points) {
    if (point.mark.empty()) continue;
    const double x = scale.x(seconds_of(point, points.front()));
    if (x - drawn < kApart) continue;
    drawn = x;
    svg += fmt::format(
        "<line class=\"mark\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"><title>{3}</title></line>\n", x,
        kTimelineTop, kTimelineHeight - kTimelineBottom, escape(point.mark));
  }
  return svg;
}

std::string draw_limit(Bytes limit, const TimePlot& scale) {
  if (limit.count() <= 0 || static_cast<double>(limit.count()) > scale.most_bytes) return "";
  const double y = scale.y(limit);
  return fmt::format(
      "<line class=\"limit\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text class=\"end strong\" x=\"{}\" "
      "y=\"{:.1f}\">the card's memory: {}</text>\n",
      kTimelineLeft, scale.last_x(), y, y, scale.last_x() - 4, y + 15, to_string(limit));
}

std::string size_text(const std::optional<Bytes>& bytes) { return bytes ? to_string(*bytes) : "unknown"; }

std::string data_table(const std::vector<LevelPoint>& points, const TimePlot& scale, const std::string& title) {
  std::vector<std::vector<std::string>> rows;
  const bool has_marks = std::ranges::any_of(points, [](const LevelPoint& point) { return !point.mark.empty(); });
  const bool has_used = is_known(points, &LevelPoint::used);
  for (const LevelPoint& point : points) {
    const double seconds = seconds_of(point, points.front());
    rows.push_back({fmt::format("<span data-x=\"{:.1f}\">{:.3f} s</span>", scale.x(seconds), seconds),
                    escape(point.phase), size_text(point.allocated), size_text(point.reserved)});
    if (has_used) rows.back().push_back(size_text(point.used));
    if (has_marks) rows.back().push_back(escape(point.mark));
  }
  std::vector<TableColumn> columns = {{"after", true}, {"phase"}, {"allocated", true}, {"reserved", true}};
  if (has_used) columns.push_back({"everything", true});
  if (has_marks) columns.push_back({"mark"});
  return details("The numbers behind the picture", table("Points of: " + title, columns, rows));
}

std::string legend(const std::vector<LevelPoint>& points) {
  const auto item = [](std::string_view css_class, std::string_view text) {
    return fmt::format(
        "<li><svg class=\"key\" viewBox=\"0 0 32 8\" aria-hidden=\"true\"><path class=\"{}\" d=\"M0 4H32\"/></svg> "
        "{}</li>",
        css_class, text);
  };
  const auto known = [&](Level level, std::string_view css_class, std::string_view text) {
    return is_known(points, level) ? item(css_class, text) : "";
  };
  return "<ul class=\"legend\">" + known(&LevelPoint::reserved, "reserved", "reserved by PyTorch") +
         known(&LevelPoint::allocated, "allocated", "allocated: tensors") +
         known(&LevelPoint::used, "used", "everything on the card") + item("limit", "the card's memory") + "</ul>\n";
}

Bytes most_of(const std::vector<LevelPoint>& points, Bytes total) {
  Bytes most;
  for (const LevelPoint& point : points) {
    for (const auto& level : {point.allocated, point.reserved, point.used}) {
      most = std::max(most, level.value_or(Bytes()));
    }
  }
  // The limit is drawn where it does not press the curves flat.
  return total.count() <= 3 * most.count() ? std::max(most, total) : most;
}

std::string draw_levels(const std::vector<LevelPoint>& points, const TimePlot& scale) {
  const std::vector<KnownStretch> reserved = stretches(points, scale, &LevelPoint::reserved);
  return area_of(reserved, "reserved area", scale.y(Bytes(0))) + line_of(reserved, "reserved") +
         line_of(stretches(points, scale, &LevelPoint::allocated), "allocated") +
         line_of(stretches(points, scale, &LevelPoint::used), "used");
}

// Moves a line over the picture and reads the numbers out; page.js brings it to life and shows it.
std::string cursor_control(std::size_t points, const std::string& title) {
  return fmt::format(
      "<div class=\"cursor-control\" hidden><label>Moment <input type=\"range\" min=\"0\" max=\"{}\" value=\"0\" "
      "aria-label=\"Moment of: {}\"></label> <output></output></div>\n",
      points - 1, escape(title));
}

// page.js moves the cursors of both pictures: it goes from `data-left` to `data-right`.
std::string picture(const std::vector<LevelPoint>& points, Bytes total, const std::vector<Bytes>& ticks,
                    const TimePlot& scale, const std::string& title) {
  std::string svg = fmt::format(
      "<svg class=\"chart{}\" viewBox=\"0 0 {} {}\" data-left=\"{}\" data-right=\"{}\" role=\"img\" aria-label=\"{}: "
      "memory over {:.1f} seconds. The table below holds the numbers.\">\n",
      is_slim(scale) ? " slim" : "", scale.width, kTimelineHeight, kTimelineLeft, scale.last_x(), escape(title),
      scale.seconds);
  svg += draw_phases(points, scale) + draw_axes(scale, ticks, is_slim(scale) ? 4 : 8) + draw_marks(points, scale);
  svg += draw_levels(points, scale) + draw_limit(total, scale);
  return svg + fmt::format("<line class=\"cursor\" x1=\"0\" x2=\"0\" y1=\"{}\" y2=\"{}\"/>\n</svg>", kTimelineTop,
                           kTimelineHeight - kTimelineBottom);
}

}  // namespace

std::string timeline_chart(std::vector<LevelPoint> points, Bytes total, const std::string& title) {
  std::ranges::stable_sort(points, {}, &LevelPoint::at_ns);
  const bool has_level = is_known(points, &LevelPoint::allocated) || is_known(points, &LevelPoint::reserved) ||
                         is_known(points, &LevelPoint::used);
  if (points.size() < 2 || !has_level) return "";
  const std::vector<Bytes> ticks = byte_ticks(most_of(points, total), 5);
  TimePlot scale{kTimelineWidth,
                 kTimelineHeight,
                 kTimelineLeft,
                 kTimelineRight,
                 kTimelineTop,
                 kTimelineBottom,
                 std::max(1e-9, seconds_of(points.back(), points.front())),
                 static_cast<double>(ticks.back().count())};
  std::string html = fmt::format(
      "<figure class=\"timeline\"><figcaption>{0}</figcaption>\n{1}<div class=\"scroll\" tabindex=\"0\" "
      "role=\"group\" aria-label=\"{0}\">{2}</div>\n",
      escape(title), legend(points), picture(points, total, ticks, scale, title));
  const std::string numbers = cursor_control(points.size(), title) + data_table(points, scale, title);
  scale.width = kTimelineSlimWidth;
  return html + picture(points, total, ticks, scale, title) + "\n" + numbers + "</figure>\n";
}

std::string timeline_chart(const model::RunResult& result, const model::DeviceResult& device,
                           const std::string& title) {
  std::vector<LevelPoint> points;
  for (const model::TimelinePoint& point : result.timeline) {
    if (point.device != device.index) continue;
    points.push_back({point.at_ns, point.phase, point.allocated, point.reserved, point.used, point.mark});
  }
  return timeline_chart(std::move(points), device.total, title);
}

}  // namespace vramfit::report::page
