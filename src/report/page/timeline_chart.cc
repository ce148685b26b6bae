#include "report/page/timeline_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/page/axis.h"
#include "report/page/html.h"

namespace vramfit::report::page {

using base::Bytes;
using model::TimelinePoint;

namespace {

// The picture's own units; the page scales it.
constexpr double kTimelineWidth = 960, kTimelineHeight = 320;
constexpr double kTimelineLeft = 76, kTimelineRight = 20, kTimelineTop = 30, kTimelineBottom = 44;

struct TimelineScale {
  double from_seconds = 0, to_seconds = 1, most_bytes = 1;
  double x(double seconds) const {
    return kTimelineLeft +
           (kTimelineWidth - kTimelineLeft - kTimelineRight) * (seconds - from_seconds) / (to_seconds - from_seconds);
  }
  double y(Bytes bytes) const {
    return kTimelineHeight - kTimelineBottom -
           (kTimelineHeight - kTimelineTop - kTimelineBottom) * static_cast<double>(bytes.count()) / most_bytes;
  }
};

double seconds_of(const TimelinePoint& point, const TimelinePoint& first) {
  return static_cast<double>(point.at_ns - first.at_ns) / 1e9;
}

// Memory stays where it is until the next point.
template <class Level>
std::string steps(const std::vector<TimelinePoint>& points, const TimelineScale& scale, Level TimelinePoint::*member) {
  std::string path;
  for (const TimelinePoint& point : points) {
    const std::optional<Bytes> level = point.*member;
    if (!level) continue;
    const double x = scale.x(seconds_of(point, points.front()));
    const double y = scale.y(*level);
    path += path.empty() ? fmt::format("M{:.1f} {:.1f}", x, y) : fmt::format("H{:.1f}V{:.1f}", x, y);
  }
  return path;
}

std::string draw_phases(const std::vector<TimelinePoint>& points, const TimelineScale& scale) {
  std::string svg;
  int band = 0;
  for (std::size_t i = 0; i < points.size(); ++band) {
    std::size_t end = i;
    while (end < points.size() && points[end].phase == points[i].phase) ++end;
    const double from = scale.x(seconds_of(points[i], points.front()));
    const double to =
        end < points.size() ? scale.x(seconds_of(points[end], points.front())) : kTimelineWidth - kTimelineRight;
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

std::string draw_axes(const TimelineScale& scale, const std::vector<Bytes>& ticks) {
  std::string svg;
  for (const Bytes tick : ticks) {
    svg += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kTimelineLeft,
                       kTimelineWidth - kTimelineRight, scale.y(tick), scale.y(tick));
    svg += fmt::format("<text class=\"end\" x=\"{}\" y=\"{:.1f}\">{}</text>\n", kTimelineLeft - 8, scale.y(tick) + 4,
                       tick_text(tick));
  }
  for (const double tick : round_ticks(scale.to_seconds, 8)) {
    if (tick > scale.to_seconds) break;
    svg += fmt::format("<text class=\"middle\" x=\"{:.1f}\" y=\"{}\">{:.4g} s</text>\n", scale.x(tick),
                       kTimelineHeight - kTimelineBottom + 20, tick);
  }
  return svg;
}

std::string draw_marks(const std::vector<TimelinePoint>& points, const TimelineScale& scale) {
  std::string svg;
  for (const TimelinePoint& point : points) {
    if (point.mark.empty()) continue;
    const double x = scale.x(seconds_of(point, points.front()));
    svg += fmt::format(
        "<line class=\"mark\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"><title>{3}</title></line>\n", x,
        kTimelineTop, kTimelineHeight - kTimelineBottom, escape(point.mark));
  }
  return svg;
}

std::string draw_limit(Bytes limit, const TimelineScale& scale) {
  if (limit.count() <= 0 || static_cast<double>(limit.count()) > scale.most_bytes) return "";
  const double y = scale.y(limit);
  return fmt::format(
      "<line class=\"limit\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text class=\"end strong\" x=\"{}\" "
      "y=\"{:.1f}\">the card's memory: {}</text>\n",
      kTimelineLeft, kTimelineWidth - kTimelineRight, y, y, kTimelineWidth - kTimelineRight - 4, y + 15,
      to_string(limit));
}

bool tells_of_card(const std::vector<TimelinePoint>& points) {
  return std::ranges::any_of(points, [](const TimelinePoint& point) { return point.used.has_value(); });
}

std::string data_table(const std::vector<TimelinePoint>& points, const TimelineScale& scale, const std::string& title) {
  std::vector<std::vector<std::string>> rows;
  const bool has_marks = std::ranges::any_of(points, [](const TimelinePoint& point) { return !point.mark.empty(); });
  const bool has_used = tells_of_card(points);
  for (const TimelinePoint& point : points) {
    const double seconds = seconds_of(point, points.front());
    rows.push_back({fmt::format("<span data-x=\"{:.1f}\">{:.3f} s</span>", scale.x(seconds), seconds),
                    escape(point.phase), to_string(point.allocated), to_string(point.reserved)});
    if (has_used) rows.back().push_back(point.used ? to_string(*point.used) : "unknown");
    if (has_marks) rows.back().push_back(escape(point.mark));
  }
  std::vector<TableColumn> columns = {{"after", true}, {"phase"}, {"allocated", true}, {"reserved", true}};
  if (has_used) columns.push_back({"everything", true});
  if (has_marks) columns.push_back({"mark"});
  return details("The numbers behind the picture", table("Points of: " + title, columns, rows));
}

std::string legend(bool has_used) {
  const auto item = [](std::string_view css_class, std::string_view text) {
    return fmt::format(
        "<li><svg class=\"key\" viewBox=\"0 0 32 8\" aria-hidden=\"true\"><path class=\"{}\" d=\"M0 4H32\"/></svg> "
        "{}</li>",
        css_class, text);
  };
  return "<ul class=\"legend\">" + item("reserved", "reserved by PyTorch") + item("allocated", "allocated: tensors") +
         (has_used ? item("used", "everything on the card") : "") + item("limit", "the card's memory") + "</ul>\n";
}

// Moves a line over the picture and reads the numbers out; page.js brings it to life and shows it.
std::string cursor_control(std::size_t points, const std::string& title) {
  return fmt::format(
      "<div class=\"cursor-control\" hidden><label>Moment <input type=\"range\" min=\"0\" max=\"{}\" value=\"0\" "
      "aria-label=\"Moment of: {}\"></label> <output></output></div>\n",
      points - 1, escape(title));
}

}  // namespace

std::string timeline_chart(const model::RunResult& result, const model::DeviceResult& device,
                           const std::string& title) {
  std::vector<TimelinePoint> points;
  std::ranges::copy_if(result.timeline, std::back_inserter(points),
                       [&](const TimelinePoint& point) { return point.device == device.index; });
  std::ranges::stable_sort(points, {}, &TimelinePoint::at_ns);
  if (points.size() < 2) return "";
  Bytes most;
  for (const TimelinePoint& point : points) {
    most = std::max({most, point.allocated, point.reserved, point.used.value_or(Bytes())});
  }
  // The limit is drawn where it does not press the curves flat.
  if (device.total.count() <= 3 * most.count()) most = std::max(most, device.total);
  const std::vector<Bytes> ticks = byte_ticks(most, 5);
  const TimelineScale scale{0, std::max(1e-9, seconds_of(points.back(), points.front())),
                            static_cast<double>(ticks.back().count())};
  const std::string reserved = steps(points, scale, &TimelinePoint::reserved);
  std::string html = fmt::format(
      "<figure class=\"timeline\"><figcaption>{0}</figcaption>\n{1}<div class=\"scroll\" tabindex=\"0\" "
      "role=\"group\" aria-label=\"{0}\"><svg class=\"chart\" viewBox=\"0 0 {2} {3}\" role=\"img\" "
      "aria-label=\"{0}: allocated and reserved memory over {4:.1f} seconds. The table below holds the numbers.\">\n",
      escape(title), legend(tells_of_card(points)), kTimelineWidth, kTimelineHeight, scale.to_seconds);
  html += draw_phases(points, scale) + draw_axes(scale, ticks);
  html +=
      fmt::format("<path class=\"reserved area\" d=\"{}V{:.1f}H{}Z\"/>\n", reserved, scale.y(Bytes(0)), kTimelineLeft);
  html += fmt::format("<path class=\"reserved\" d=\"{}\"/>\n<path class=\"allocated\" d=\"{}\"/>\n", reserved,
                      steps(points, scale, &TimelinePoint::allocated));
  if (tells_of_card(points)) {
    html += fmt::format("<path class=\"used\" d=\"{}\"/>\n", steps(points, scale, &TimelinePoint::used));
  }
  html += draw_limit(device.total, scale) + draw_marks(points, scale);
  html += fmt::format("<line class=\"cursor\" x1=\"0\" x2=\"0\" y1=\"{}\" y2=\"{}\"/>\n</svg></div>\n", kTimelineTop,
                      kTimelineHeight - kTimelineBottom);
  return html + cursor_control(points.size(), title) + data_table(points, scale, title) + "</figure>\n";
}

}  // namespace vramfit::report::page
