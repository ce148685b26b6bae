#include "report/page/overlay_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "report/page/axis.h"
#include "report/page/html.h"
#include "report/page/packed.h"
#include "report/page/time_plot.h"

namespace vramfit::report::page {

using base::Bytes;
using model::TimelinePoint;

namespace {

constexpr double kOverlayWidth = 960, kOverlayHeight = 340;
constexpr double kOverlayLeft = 76, kOverlayRight = 20, kOverlayTop = 14, kOverlayBottom = 40;
constexpr std::size_t kOverlayColors = 8, kOverlayDashes = 7;  // as page.css has them

enum class Measure { kUsed, kReserved, kAllocated };
constexpr Measure kMeasures[] = {Measure::kUsed, Measure::kReserved, Measure::kAllocated};

std::string_view name_of(Measure measure) {
  return measure == Measure::kUsed ? "used" : measure == Measure::kReserved ? "reserved" : "allocated";
}

std::string_view text_of(Measure measure) {
  return measure == Measure::kUsed       ? "everything on the card"
         : measure == Measure::kReserved ? "reserved by PyTorch"
                                         : "allocated: tensors";
}

std::optional<Bytes> level_of(const TimelinePoint& point, Measure measure) {
  if (measure == Measure::kUsed) return point.used;
  return measure == Measure::kReserved ? point.reserved : point.allocated;
}

struct OverlayRun {
  const ShownRun* run = nullptr;
  std::vector<TimelinePoint> points;  // of its fullest card, in order of time
  double seconds(const TimelinePoint& point) const {
    return static_cast<double>(point.at_ns - points.front().at_ns) / 1e9;
  }
  bool tells(Measure measure) const {
    return std::ranges::any_of(points, [&](const auto& point) { return level_of(point, measure).has_value(); });
  }
};

std::vector<OverlayRun> drawn_runs(const std::vector<ShownRun>& runs) {
  std::vector<OverlayRun> drawn;
  for (const ShownRun& run : runs) {
    if (!run.result) continue;
    OverlayRun one{&run, {}};
    for (const TimelinePoint& point : run.result->timeline) {
      if (point.device == run.result->peak_device) one.points.push_back(point);
    }
    std::ranges::stable_sort(one.points, {}, &TimelinePoint::at_ns);
    if (one.points.size() >= 2) drawn.push_back(std::move(one));
  }
  return drawn;
}

// The first that all of them tell.
Measure first_measure(const std::vector<OverlayRun>& runs) {
  for (const Measure measure : kMeasures) {
    if (std::ranges::all_of(runs, [&](const OverlayRun& run) { return run.tells(measure); })) return measure;
  }
  return Measure::kAllocated;
}

// A run's colour and dashes.
std::string line_class(std::size_t place) {
  return fmt::format("run-line run-color-{} run-dash-{}", place % kOverlayColors,
                     place / kOverlayColors % kOverlayDashes);
}

std::string draw_run(const OverlayRun& run, std::size_t place, Measure measure, const TimePlot& scale) {
  std::vector<LevelAt> levels;
  for (const TimelinePoint& point : run.points) levels.push_back({run.seconds(point), level_of(point, measure)});
  return fmt::format("<path class=\"{}\" d=\"{}\"/>\n", line_class(place), path_of(stretches(scale, levels)));
}

std::string static_picture(const std::vector<OverlayRun>& runs, Measure measure) {
  TimePlot scale{kOverlayWidth, kOverlayHeight, kOverlayLeft, kOverlayRight, kOverlayTop, kOverlayBottom, 1e-9};
  Bytes most;
  for (const OverlayRun& run : runs) {
    scale.seconds = std::max(scale.seconds, run.seconds(run.points.back()));
    for (const TimelinePoint& point : run.points) most = std::max(most, level_of(point, measure).value_or(Bytes()));
  }
  const std::vector<Bytes> ticks = byte_ticks(most, 5);
  scale.most_bytes = static_cast<double>(ticks.back().count());
  std::string svg = fmt::format(
      "<div class=\"scroll overlay-still\" tabindex=\"0\" role=\"group\" aria-label=\"Memory of all runs over "
      "time\"><svg "
      "class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"A line for each run: {} over {:.1f} seconds. "
      "The "
      "pictures of each run below hold the numbers.\">\n",
      kOverlayWidth, kOverlayHeight, text_of(measure), scale.seconds);
  svg += draw_axes(scale, ticks, 8);
  for (std::size_t i = 0; i < runs.size(); ++i) svg += draw_run(runs[i], i, measure, scale);
  return svg + "</svg></div>\n";
}

std::string legend(const std::vector<OverlayRun>& runs) {
  std::string html = "<ul class=\"legend\">";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const model::StoredRun& stored = runs[i].run->stored;
    std::string words;
    for (const std::string& tag : stored.tags) words += fmt::format(" <span class=\"tag\">{}</span>", escape(tag));
    html += fmt::format(
        "<li><label><input type=\"checkbox\" checked hidden> <svg class=\"key\" viewBox=\"0 0 32 8\" "
        "aria-hidden=\"true\"><path class=\"{}\" d=\"M0 4H32\"/></svg> run {}</label>{}</li>",
        line_class(i), stored.number, words);
  }
  return html + "</ul>\n";
}

std::string controls(const std::vector<OverlayRun>& runs, Measure chosen) {
  std::string html = "<div class=\"trace-zoom buttons\" hidden><label>of <select>";
  for (const Measure measure : kMeasures) {
    if (std::ranges::none_of(runs, [&](const OverlayRun& run) { return run.tells(measure); })) continue;
    html += fmt::format("<option value=\"{}\"{}>{}</option>", name_of(measure), measure == chosen ? " selected" : "",
                        text_of(measure));
  }
  return html + "</select></label>" + zoom_buttons() + "</div>\n";
}

std::string numbers(const OverlayRun& run, std::size_t place) {
  std::vector<double> seconds;
  for (const TimelinePoint& point : run.points) seconds.push_back(run.seconds(point));
  std::string html =
      fmt::format("<template data-run=\"{}\" data-class=\"{}\">\n", run.run->stored.number, line_class(place)) +
      packed("seconds", seconds);
  for (const Measure measure : kMeasures) {
    std::vector<double> levels;
    for (const TimelinePoint& point : run.points) {
      const auto level = level_of(point, measure);
      levels.push_back(level ? static_cast<double>(level->count()) : std::numeric_limits<double>::quiet_NaN());
    }
    html += packed(name_of(measure), levels);
  }
  return html + "</template>\n";
}

// Runs that are compared and can't be drawn are named.
std::string left_out(const std::vector<ShownRun>& runs, const std::vector<OverlayRun>& drawn) {
  std::string names;
  for (const ShownRun& run : runs) {
    if (std::ranges::any_of(drawn, [&](const OverlayRun& one) { return one.run == &run; })) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", run.stored.number);
  }
  return names.empty() ? "" : paragraph("Without memory over time: run " + names + ".");
}

}  // namespace

std::string overlay_chart(const std::vector<ShownRun>& runs) {
  const std::vector<OverlayRun> drawn = drawn_runs(runs);
  if (drawn.size() < 2) return "";
  const Measure measure = first_measure(drawn);
  std::string html =
      "<figure class=\"overlay\"><figcaption>Memory of all runs over time, the fullest card of each"
      "</figcaption>\n" +
      controls(drawn, measure) + legend(drawn);
  html +=
      "<div class=\"view\" role=\"application\" tabindex=\"0\" aria-label=\"Memory of all runs over time. Drag: zoom "
      "in; "
      "left and right: the moment; plus, minus and 0: zoom.\" hidden></div>\n<p class=\"told overlay-told\" "
      "role=\"status\"></p>\n";
  html += static_picture(drawn, measure);
  for (std::size_t i = 0; i < drawn.size(); ++i) html += numbers(drawn[i], i);
  return html + left_out(runs, drawn) + "</figure>\n";
}

}  // namespace vramfit::report::page
