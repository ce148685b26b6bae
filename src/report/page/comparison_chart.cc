#include "report/page/comparison_chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/page/axis.h"
#include "report/page/html.h"
#include "report/page/palette.h"

namespace vramfit::report::page {

using base::Bytes;

namespace {

constexpr int kComparisonLeft = 90, kComparisonTop = 8, kRow = 36, kBar = 24, kComparisonBottom = 30;

constexpr double kBesideBar = 7;

// How wide it is drawn, and what is left at the right for the sizes, at least. Telephones have a slim picture.
struct BarPlot {
  int width = 960, right = 200, ticks = 6;
  bool is_slim = false;
  double scale = 1;
};
constexpr BarPlot kWidePlot, kSlimPlot{.width = 380, .right = 70, .ticks = 3, .is_slim = true};

// One run's fullest card.
struct Bar {
  const ShownRun* run = nullptr;
  std::vector<OwnerTotal> owners;  // largest first
  Bytes whole;
  Bytes total;  // of the card; 0: not known
};

std::vector<Bar> build_bars(const std::vector<ShownRun>& runs) {
  std::vector<Bar> bars;
  for (const ShownRun& run : runs) {
    if (!run.result) continue;
    Bar bar{.run = &run, .owners = {}, .whole = {}, .total = {}};
    for (const OwnerTotal& owner : run.owners) {
      if (owner.device != run.result->peak_device || owner.bytes.count() <= 0) continue;
      bar.owners.push_back(owner);
      bar.whole += owner.bytes;
    }
    if (const model::DeviceResult* card = fullest(*run.result)) bar.total = card->total;
    if (!bar.owners.empty()) bars.push_back(std::move(bar));
  }
  return bars;
}

// The owners in the order in which they are met: those of the first run by size.
std::vector<std::string> owners_of(const std::vector<Bar>& bars) {
  std::vector<std::string> names;
  for (const Bar& bar : bars) {
    for (const OwnerTotal& owner : bar.owners) {
      if (std::ranges::find(names, owner.owner) == names.end()) names.push_back(owner.owner);
    }
  }
  return names;
}

const OwnerTotal* find_owner(const Bar& bar, const std::string& name) {
  const auto found = std::ranges::find(bar.owners, name, &OwnerTotal::owner);
  return found == bar.owners.end() ? nullptr : &*found;
}

std::string text_beside(const Bar& bar, const BarPlot& plot) {
  const std::string_view ran_out = plot.is_slim ? ", OOM" : ", out of memory";
  return to_string(bar.whole) + std::string(bar.run->result->oom ? ran_out : "");
}

double width_of(const std::string& text) { return static_cast<double>(text.size()) * kLetter; }

// Every bar has its parts in one order, so that they can be compared.
std::string draw_bar(const Bar& bar, const std::vector<std::string>& names, int y, const BarPlot& plot) {
  std::string svg = fmt::format("<text class=\"end\" x=\"{}\" y=\"{}\">run {}</text>\n", kComparisonLeft - 8, y + 17,
                                bar.run->stored.number);
  double x = kComparisonLeft;
  for (const std::string& name : names) {
    const OwnerTotal* owner = find_owner(bar, name);
    if (owner == nullptr) continue;
    const double width = static_cast<double>(owner->bytes.count()) * plot.scale;
    svg += fmt::format(
        "<rect class=\"edge\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"><title>run {}: {} {}"
        "</title></rect>\n",
        x, y, width, kBar, fill_of(name), bar.run->stored.number, escape(name), to_string(owner->bytes));
    x += width;
  }
  const double limit = kComparisonLeft + static_cast<double>(bar.total.count()) * plot.scale;
  const bool has_limit = bar.total.count() > 0 && limit <= plot.width - plot.right;
  if (has_limit) {
    svg += fmt::format("<path class=\"limit\" d=\"M{:.1f} {}v{}\"/>\n", limit, y - 5, kBar + 10);
  }
  const std::string text = text_beside(bar, plot);
  const bool is_in_the_way = has_limit && limit < x + 2 * kBesideBar + width_of(text);
  return svg + fmt::format("<text x=\"{:.1f}\" y=\"{}\">{}</text>\n",
                           (is_in_the_way ? std::max(x, limit) : x) + kBesideBar, y + 17, text);
}

std::string draw_axis(const std::vector<Bytes>& ticks, int bottom, double scale) {
  std::string svg;
  for (const Bytes tick : ticks) {
    const double x = kComparisonLeft + static_cast<double>(tick.count()) * scale;
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/><text class=\"middle\" "
        "x=\"{0:.1f}\" y=\"{3}\">{4}</text>\n",
        x, kComparisonTop, bottom, bottom + 18, tick_text(tick));
  }
  return svg;
}

std::string draw_picture(const std::vector<Bar>& bars, const std::vector<std::string>& names, Bytes end, BarPlot plot) {
  const std::vector<Bytes> ticks = byte_ticks(end, plot.ticks);
  for (const Bar& bar : bars) {
    plot.right = std::max(plot.right, static_cast<int>(width_of(text_beside(bar, plot)) + 2 * kBesideBar));
  }
  plot.scale = (plot.width - kComparisonLeft - plot.right) / static_cast<double>(ticks.back().count());
  const int bottom = kComparisonTop + static_cast<int>(bars.size()) * kRow + 4;
  std::string svg = draw_axis(ticks, bottom, plot.scale);
  int y = kComparisonTop + 8;
  for (const Bar& bar : bars) {
    svg += draw_bar(bar, names, y, plot);
    y += kRow;
  }
  return fmt::format(
      "<svg class=\"chart{}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"A bar for each run, made of what held "
      "its "
      "peak. The table below holds the numbers.\">\n{}</svg>\n",
      plot.is_slim ? " slim" : "", plot.width, bottom + kComparisonBottom, svg);
}

std::string legend(const std::vector<std::string>& names) {
  std::string html;
  for (const std::string& name : names) html += fmt::format("<li>{} {}</li>", swatch(name), escape(name));
  return "<ul class=\"legend\">" + html +
         "<li><svg class=\"key\" viewBox=\"0 0 32 8\" aria-hidden=\"true\"><path class=\"limit\" d=\"M0 4H32\"/></svg> "
         "the card's memory</li></ul>\n";
}

std::string numbers(const std::vector<Bar>& bars, const std::vector<std::string>& names) {
  std::vector<TableColumn> columns = {{"owner"}};
  for (const Bar& bar : bars) columns.push_back({fmt::format("run {}", bar.run->stored.number), true});
  std::vector<std::vector<std::string>> rows;
  for (const std::string& name : names) {
    rows.push_back({swatch(name) + " " + escape(name)});
    for (const Bar& bar : bars) {
      const OwnerTotal* owner = find_owner(bar, name);
      rows.back().push_back(owner == nullptr ? "none" : to_string(owner->bytes));
    }
  }
  return table("What held the peak of each run", columns, rows);
}

}  // namespace

std::string comparison_chart(const std::vector<ShownRun>& runs) {
  const std::vector<Bar> bars = build_bars(runs);
  if (bars.size() < 2) return "";
  const std::vector<std::string> names = owners_of(bars);
  Bytes most, largest_card;
  for (const Bar& bar : bars) {
    most = std::max(most, bar.whole);
    largest_card = std::max(largest_card, bar.total);
  }
  // The limit is drawn where it does not press the bars flat.
  const Bytes end = largest_card.count() <= 3 * most.count() ? std::max(most, largest_card) : most;
  return fmt::format(
      "<figure class=\"twofold\"><figcaption>What held the peak, run by run</figcaption>\n{}{}<div class=\"scroll "
      "picture\" tabindex=\"0\" role=\"group\" aria-label=\"What held the peak, run by run\">{}</div>\n{}</figure>\n",
      legend(names), draw_picture(bars, names, end, kSlimPlot), draw_picture(bars, names, end, kWidePlot),
      numbers(bars, names));
}

}  // namespace vramfit::report::page
