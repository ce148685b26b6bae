#include "report/exports/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "report/exports/sweep_svg.h"
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
    ".used{fill:none;stroke:#555;stroke-width:1.5;stroke-dasharray:1.5 2.5}"
    ".limit{stroke:#1b1b1b;stroke-width:2;stroke-dasharray:2 4;fill:none}"
    ".mark{stroke:#555;stroke-width:1.5;stroke-dasharray:1 3}.cursor{visibility:hidden}.bar{fill:#0072B2}"
    ".small{font-size:11.5px}.heat{fill:#0072B2;stroke:#c9c9c9}.heat.unsure{stroke:#1b1b1b;stroke-dasharray:4 3}"
    ".unheated{fill:none;stroke:#c9c9c9}.unheated.unknown{stroke-dasharray:3 3}.over{fill:#a8320a;font-weight:600}"
    ".border{fill:none;stroke:#1b1b1b;stroke-width:4;stroke-linecap:square}"
    ".border.unsure{stroke-dasharray:7 5;stroke-linecap:butt}.fits{fill:#0072B2;stroke:#fff}"
    ".lost{stroke:#B84A00;stroke-width:2;fill:none}.unsure-point{stroke:#0072B2;stroke-width:2;fill:#fff}"
    ".front{fill:none;stroke:#0072B2;stroke-width:2}";

bool has_counter(const ExportFacts& facts, int device, std::string_view name) {
  return std::ranges::any_of(facts.counters, [&](const Counter& counter) {
    return counter.device == device && counter.name == name && !counter.points.empty();
  });
}

// A counter as time goes by: a value holds until the next point.
class Holding {
 public:
  Holding(const ExportFacts& facts, int device, std::string_view name) {
    for (const Counter& counter : facts.counters) {
      if (counter.device == device && counter.name == name) points_ = &counter.points;
    }
  }
  std::optional<Bytes> at(std::int64_t at_ns) {
    while (points_ != nullptr && next_ < points_->size() && (*points_)[next_].at_ns <= at_ns) {
      value_ = (*points_)[next_++].value;
    }
    return value_;
  }

 private:
  const std::vector<CounterPoint>* points_ = nullptr;
  std::size_t next_ = 0;
  std::optional<Bytes> value_;
};

std::vector<page::LevelPoint> points_of(const ExportFacts& facts, int device) {
  std::set<std::int64_t> times;
  for (const Counter& counter : facts.counters) {
    if (counter.device != device) continue;
    for (const CounterPoint& point : counter.points) times.insert(point.at_ns);
  }
  Holding allocated(facts, device, "allocated"), reserved(facts, device, "reserved"), used(facts, device, "device");
  std::vector<page::LevelPoint> list;
  for (const std::int64_t at_ns : times) {
    list.push_back({at_ns, {}, allocated.at(at_ns), reserved.at(at_ns), used.at(at_ns), {}});
    for (const Slice& slice : facts.slices) {
      if (slice.device == device && at_ns >= slice.from_ns && at_ns < slice.to_ns) list.back().phase = slice.name;
    }
  }
  for (const Mark& mark : facts.marks) {
    if (mark.device != device) continue;
    const auto next = std::ranges::lower_bound(list, mark.at_ns, {}, &page::LevelPoint::at_ns);
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

std::string legend(const ExportFacts& facts, int device, int y) {
  std::string svg;
  int x = 76;
  const auto add = [&](const char* counter, std::string_view css_class, std::string_view text) {
    if (!has_counter(facts, device, counter)) return;
    svg += fmt::format("<path class=\"{}\" d=\"M{} {}h32\"/><text x=\"{}\" y=\"{}\">{}</text>\n", css_class, x, y - 4,
                       x + 38, y, text);
    x += 240;
  };
  add("reserved", "reserved", "reserved by PyTorch");
  add("allocated", "allocated", "allocated: tensors");
  add("device", "used", "everything on the card");
  return svg;
}

std::string timelines(const ExportFacts& facts) {
  std::string body;
  int top = 0;
  for (const CardFacts& card : facts.cards) {
    const std::string title =
        fmt::format("{}: card {}{}{}", facts.title, card.device, card.name.empty() ? "" : ", ", card.name);
    const std::string picture =
        picture_of(page::timeline_chart(points_of(facts, card.device), card.total, title), top + kTitleHeight);
    if (picture.empty()) continue;
    body += fmt::format("<text class=\"title\" x=\"76\" y=\"{}\">{}</text>\n", top + 22, escape(title)) +
            legend(facts, card.device, top + 44) + picture;
    top += kTitleHeight + kChartHeight;
  }
  return body.empty() ? "" : svg_document(kWidth, top, body);
}

std::string peak_bars(const std::vector<ExportFacts>& exported) {
  constexpr int kRow = 34, kLeft = 200, kRight = 120;
  struct Bar {
    std::string title, outcome;
    std::optional<Bytes> peak;
  };
  std::vector<Bar> bars;
  Bytes most;
  for (const ExportFacts& facts : exported) {
    const auto fullest = std::ranges::max_element(facts.cards, {}, &CardFacts::peak);
    if (fullest == facts.cards.end()) continue;
    bars.push_back({facts.title, facts.outcome, fullest->peak});
    most = std::max(most, fullest->peak.value_or(Bytes()));
  }
  if (most.count() == 0) return "";
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
    const double width = static_cast<double>(bar.peak.value_or(Bytes()).count()) * scale;
    body += fmt::format("<text class=\"end\" x=\"{}\" y=\"{}\">{}</text>", kLeft - 10, y + 15, escape(bar.title));
    if (bar.peak) {
      body += fmt::format("<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"20\"/>", kLeft, y, width);
    }
    body += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{}{}{}</text>\n", kLeft + width + 6, y + 15,
                        bar.peak ? to_string(*bar.peak) : "peak not known", bar.outcome.empty() ? "" : ", ",
                        escape(bar.outcome));
    y += kRow;
  }
  return svg_document(kWidth, bottom + 32, body);
}

}  // namespace

std::string svg_document(int width, int height, std::string_view body) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
      "height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n<style>{2}</style>\n<rect width=\"{0}\" height=\"{1}\" "
      "fill=\"#fff\"/>\n{3}</svg>\n",
      width, height, kStyle, body);
}

std::string charts_to_svg(const std::vector<ExportFacts>& exported) {
  if (exported.empty()) return "";
  if (exported.size() > 1) return peak_bars(exported);
  const ExportFacts& facts = exported.front();
  return facts.sweep ? sweep_to_svg(*facts.sweep, facts.title) : timelines(facts);
}

}  // namespace vramfit::report::exports
