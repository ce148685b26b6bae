#include "report/exports/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "model/run_result.h"
#include "report/page/axis.h"
#include "report/page/html.h"
#include "report/page/timeline_chart.h"

namespace vramfit::report::exports {

using base::Bytes;
using page::escape;

namespace {

constexpr int kWidth = 960, kChartHeight = 320, kTitleHeight = 52;

// Reports colour by the browser's light or dark; these are the light ones.
constexpr std::string_view kStyle =
    "text{font:13px system-ui,'DejaVu Sans',sans-serif;fill:#1b1b1b}.end{text-anchor:end}.middle{text-anchor:middle}"
    ".title{font-size:16px;font-weight:600}.strong{font-weight:600}.grid{stroke:#c9c9c9;stroke-width:1}"
    ".phase{fill:#1b1b1b}.phase-0{fill-opacity:.03}.phase-1{fill-opacity:.09}"
    ".reserved{fill:none;stroke:#0072B2;stroke-width:2}.area{fill:#0072B2;fill-opacity:.12;stroke:none}"
    ".allocated{fill:none;stroke:#B84A00;stroke-width:2;stroke-dasharray:7 2}"
    ".limit{stroke:#1b1b1b;stroke-width:2;stroke-dasharray:2 4;fill:none}"
    ".mark{stroke:#555;stroke-width:1.5;stroke-dasharray:1 3}.cursor{visibility:hidden}.bar{fill:#0072B2}";

std::string document(int height, std::string_view body) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
      "height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n<style>{2}</style>\n<rect width=\"{0}\" height=\"{1}\" "
      "fill=\"#fff\"/>\n{3}</svg>\n",
      kWidth, height, kStyle, body);
}

// What the report draws for one card. The whole card stands in for what PyTorch reserved where only that is known.
std::vector<model::TimelinePoint> points_of(const ExportFacts& facts, int device) {
  std::map<std::int64_t, model::TimelinePoint> points;
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(facts.counters, [&](const Counter& counter) {
      return counter.device == device && counter.name == name && !counter.points.empty();
    });
  };
  const std::string upper = has("reserved") ? "reserved" : "device";
  for (const Counter& counter : facts.counters) {
    if (counter.device != device) continue;
    for (const CounterPoint& point : counter.points) {
      model::TimelinePoint& drawn = points[point.at_ns];
      drawn.at_ns = point.at_ns;
      drawn.device = device;
      if (counter.name == "allocated") drawn.allocated = point.value;
      if (counter.name == upper) drawn.reserved = point.value;
    }
  }
  std::vector<model::TimelinePoint> list;
  for (auto& [at_ns, point] : points) {
    for (const Slice& slice : facts.slices) {
      if (slice.device == device && at_ns >= slice.from_ns && at_ns < slice.to_ns) point.phase = slice.name;
    }
    list.push_back(std::move(point));
  }
  for (const Mark& mark : facts.marks) {
    if (mark.device != device) continue;
    const auto next = std::ranges::lower_bound(list, mark.at_ns, {}, &model::TimelinePoint::at_ns);
    if (next != list.end()) next->mark = mark.text;
  }
  return list;
}

// The report's figure holds one picture among other things.
std::string picture_of(const std::string& figure, int top) {
  const std::size_t begin = figure.find("<svg class=\"chart\"");
  const std::size_t end = figure.find("</svg>", begin);
  if (begin == std::string::npos || end == std::string::npos) return "";
  const std::size_t inside = figure.find('>', begin) + 1;
  return fmt::format("<svg y=\"{}\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\">{}</svg>\n", top, kWidth,
                     kChartHeight, kWidth, kChartHeight, figure.substr(inside, end - inside));
}

std::string legend(int y, bool is_whole_card) {
  return fmt::format(
      "<path class=\"reserved\" d=\"M76 {0}h32\"/><text x=\"114\" y=\"{1}\">{2}</text>"
      "<path class=\"allocated\" d=\"M330 {0}h32\"/><text x=\"368\" y=\"{1}\">allocated: tensors</text>\n",
      y - 4, y, is_whole_card ? "the whole card" : "reserved by PyTorch");
}

std::string timelines(const ExportFacts& facts) {
  std::string body;
  int top = 0;
  for (const CardFacts& card : facts.cards) {
    model::RunResult result;
    result.timeline = points_of(facts, card.device);
    model::DeviceResult device;
    device.index = card.device;
    device.total = card.total;
    const std::string title =
        fmt::format("{}: card {}{}{}", facts.title, card.device, card.name.empty() ? "" : ", ", card.name);
    const std::string picture = picture_of(page::timeline_chart(result, device, title), top + kTitleHeight);
    if (picture.empty()) continue;
    const bool is_whole_card = std::ranges::none_of(facts.counters, [&](const Counter& counter) {
      return counter.device == card.device && counter.name == "reserved" && !counter.points.empty();
    });
    body += fmt::format("<text class=\"title\" x=\"76\" y=\"{}\">{}</text>\n", top + 22, escape(title)) +
            legend(top + 44, is_whole_card) + picture;
    top += kTitleHeight + kChartHeight;
  }
  return body.empty() ? "" : document(top, body);
}

std::string peak_bars(const std::vector<ExportFacts>& exported) {
  constexpr int kRow = 34, kLeft = 200, kRight = 120;
  struct Bar {
    std::string title, outcome;
    Bytes peak;
  };
  std::vector<Bar> bars;
  Bytes most;
  for (const ExportFacts& facts : exported) {
    const auto fullest = std::ranges::max_element(facts.cards, {}, &CardFacts::peak);
    if (fullest == facts.cards.end()) continue;
    bars.push_back({facts.title, facts.outcome, fullest->peak});
    most = std::max(most, fullest->peak);
  }
  if (bars.empty() || most.count() == 0) return "";
  const std::vector<Bytes> ticks = page::byte_ticks(most, 5);
  const double scale = (kWidth - kLeft - kRight) / static_cast<double>(ticks.back().count());
  const int bottom = kTitleHeight + static_cast<int>(bars.size()) * kRow;
  std::string body = "<text class=\"title\" x=\"12\" y=\"24\">Peak of the fullest card</text>\n";
  for (const Bytes tick : ticks) {
    const double x = kLeft + static_cast<double>(tick.count()) * scale;
    body += fmt::format(
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/><text class=\"middle\" "
        "x=\"{0:.1f}\" y=\"{3}\">{4}</text>\n",
        x, kTitleHeight - 8, bottom, bottom + 18, page::tick_text(tick));
  }
  int y = kTitleHeight;
  for (const Bar& bar : bars) {
    const double width = static_cast<double>(bar.peak.count()) * scale;
    body += fmt::format(
        "<text class=\"end\" x=\"{}\" y=\"{}\">{}</text><rect class=\"bar\" x=\"{}\" y=\"{}\" "
        "width=\"{:.1f}\" height=\"20\"/><text x=\"{:.1f}\" y=\"{}\">{}{}{}</text>\n",
        kLeft - 10, y + 15, escape(bar.title), kLeft, y, width, kLeft + width + 6, y + 15, to_string(bar.peak),
        bar.outcome.empty() ? "" : ", ", escape(bar.outcome));
    y += kRow;
  }
  return document(bottom + 32, body);
}

}  // namespace

std::string charts_to_svg(const std::vector<ExportFacts>& exported) {
  if (exported.empty()) return "";
  return exported.size() == 1 ? timelines(exported.front()) : peak_bars(exported);
}

}  // namespace vramfit::report::exports
