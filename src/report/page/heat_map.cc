#include "report/page/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "report/layout.h"
#include "report/page/axis.h"
#include "report/page/html.h"
#include "report/sweep_map.h"

namespace vramfit::report::page {

using base::Bytes;
using model::Trial;
using model::TrialState;

namespace {

constexpr int kCellWidth = 120, kCellHeight = 46, kHeatMapTop = 46, kMargin = 4;
constexpr std::size_t kHeatMapMostLetters = 28, kColumnLetters = 16;
constexpr double kPalest = 0.08, kDarkest = 0.5;  // opacity; text stays readable on the darkest

// A scale from the least to the most memory of what fits.
struct HeatScale {
  Bytes least{std::numeric_limits<std::int64_t>::max()}, most;
  double opacity(Bytes bytes) const {
    if (most <= least) return (kPalest + kDarkest) / 2;
    const double share = static_cast<double>((bytes - least).count()) / static_cast<double>((most - least).count());
    return kPalest + (kDarkest - kPalest) * std::clamp(share, 0.0, 1.0);
  }
};

bool is_filled(const Trial* trial) {
  const Side side = side_of(trial);
  return (side == Side::kFits || side == Side::kUnsure) && trial->result.peaks;
}

HeatScale scale_of(const std::vector<SweepMap>& maps) {
  HeatScale scale;
  for (const SweepMap& map : maps) {
    for (const SweepCell& cell : map.cells) {
      if (!is_filled(cell.trial)) continue;
      scale.least = std::min(scale.least, cell.trial->result.peaks->device);
      scale.most = std::max(scale.most, cell.trial->result.peaks->device);
    }
  }
  return scale;
}

std::string outcome_of(const SweepCell& cell) {
  if (cell.trial == nullptr) return "not run";
  if (cell.trial->state != TrialState::kDone) return "no result";
  const model::TrialResult& result = cell.trial->result;
  const std::string peak = result.peaks ? to_string(result.peaks->device) : words_of(result.verdict);
  switch (side_of(cell.trial)) {
    case Side::kFits:
      return peak;
    case Side::kUnsure:
      return "! " + peak;
    case Side::kTooLarge:
      return "OOM";
    default:
      return words_of(result.verdict);
  }
}

// The two lines of a cell: what came of it, and the run that proves it.
std::pair<std::string, std::string> texts_of(const SweepCell& cell, const SweepFacts& facts) {
  const std::int64_t number = cell.trial == nullptr ? 0 : facts.run_of(*cell.trial).number;
  const std::string run = number > 0 ? fmt::format("run {}", number) : "";
  if (cell.largest == nullptr) return {outcome_of(cell), run};
  const std::string proof = outcome_of(cell) + (run.empty() ? "" : ", " + run);
  if (cell.largest->fits) return {fmt::format("{}", *cell.largest->fits), proof};
  if (cell.largest->too_large) {
    const std::string_view what = cell.largest->is_borderline ? "not surely" : "not even";
    return {fmt::format("{} {}", what, *cell.largest->too_large), proof};
  }
  return {"not found", ""};
}

std::string css_class_of(const Trial* trial) {
  if (is_filled(trial)) return side_of(trial) == Side::kUnsure ? "heat unsure" : "heat";
  return side_of(trial) == Side::kUnknown ? "unheated unknown" : "unheated";
}

std::string title_of(const SweepCell& cell, const SweepFacts& facts) {
  if (cell.trial == nullptr) return "not run";
  const auto [outcome, run] = texts_of(cell, facts);
  const auto& peaks = cell.trial->result.peaks;
  return fmt::format("{}: {}{}{}{}", describe_values(facts.result.spec, cell.trial->values),
                     cell.trial->state == TrialState::kDone ? words_of(cell.trial->result.verdict) : "no result",
                     peaks ? ", it got to " + to_string(peaks->device) : "", run.empty() ? "" : ", ", run);
}

std::string draw_cell(const SweepCell& cell, int x, int y, const SweepFacts& facts, const HeatScale& scale) {
  const double opacity = is_filled(cell.trial) ? scale.opacity(cell.trial->result.peaks->device) : 0;
  const auto [outcome, run] = texts_of(cell, facts);
  const bool is_over = side_of(cell.trial) == Side::kTooLarge;
  std::string svg = fmt::format(
      "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill-opacity=\"{:.2f}\"><title>{}</title></rect>"
      "<text class=\"middle{}\" x=\"{}\" y=\"{}\">{}</text>",
      css_class_of(cell.trial), x + 1, y + 1, kCellWidth - 2, kCellHeight - 2, opacity, escape(title_of(cell, facts)),
      is_over ? " over" : "", x + kCellWidth / 2, y + (run.empty() ? 28 : 20),
      escape(shorten(outcome, kColumnLetters)));
  if (!run.empty()) {
    svg += fmt::format("<text class=\"middle small\" x=\"{}\" y=\"{}\">{}</text>", x + kCellWidth / 2, y + 37,
                       escape(shorten(run, kColumnLetters + 2)));
  }
  return svg + "\n";
}

std::string draw_border(const SweepMap& map, int left) {
  std::string svg;
  for (const BorderEdge& edge : find_border(map)) {
    const int x = left + static_cast<int>(edge.column + (edge.is_right ? 1 : 0)) * kCellWidth;
    const int y = kHeatMapTop + static_cast<int>(edge.row + (edge.is_right ? 0 : 1)) * kCellHeight;
    svg += fmt::format("<path class=\"border{}\" d=\"M{} {}{}{}\"/>\n", edge.is_sure ? "" : " unsure", x, y,
                       edge.is_right ? 'v' : 'h', edge.is_right ? kCellHeight : kCellWidth);
  }
  return svg;
}

int left_of(const std::vector<SweepMap>& maps) {
  std::size_t letters = 6;
  for (const SweepMap& map : maps) {
    letters = std::max(letters, columns(map.down));
    for (const std::string& row : map.rows) letters = std::max(letters, columns(row));
  }
  return static_cast<int>(std::ceil(static_cast<double>(std::min(letters, kHeatMapMostLetters)) * kLetter)) + 16;
}

std::string draw_labels(const SweepMap& map, int left) {
  const auto label = [](std::string_view css_class, int x, int y, const std::string& text, std::size_t most) {
    return fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}{}</text>\n", css_class, x, y,
                       escape(shorten(text, most)), columns(text) > most ? "<title>" + escape(text) + "</title>" : "");
  };
  std::string svg = label("strong", left, 16, map.right, 60);
  svg += label("strong end", left - 8, kHeatMapTop - 10, map.down, kHeatMapMostLetters);
  for (std::size_t column = 0; column < map.columns.size(); ++column) {
    svg += label("middle", left + static_cast<int>(column) * kCellWidth + kCellWidth / 2, kHeatMapTop - 10,
                 map.columns[column], kColumnLetters);
  }
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    svg += label("end", left - 8, kHeatMapTop + static_cast<int>(row) * kCellHeight + kCellHeight / 2 + 5,
                 map.rows[row], kHeatMapMostLetters);
  }
  return svg;
}

std::string spoken_of(const SweepMap& map) {
  std::size_t fits = 0, run = 0;
  for (const SweepCell& cell : map.cells) {
    run += cell.trial != nullptr && cell.trial->state == TrialState::kDone ? 1 : 0;
    fits += side_of(cell.trial) == Side::kFits ? 1 : 0;
  }
  return fmt::format("Map{}{}: {} downwards, {} to the right; {} of {} fit. The table below holds the numbers.",
                     map.title.empty() ? "" : " of ", map.title, map.down, map.right, fits, run);
}

}  // namespace

std::vector<SweepPicture> draw_heat_maps(const SweepFacts& facts) {
  const std::vector<SweepMap> maps = build_maps(facts.result);
  const HeatScale scale = scale_of(maps);
  const int left = left_of(maps);
  std::vector<SweepPicture> pictures;
  for (const SweepMap& map : maps) {
    SweepPicture picture{.title = map.title,
                         .spoken = spoken_of(map),
                         .width = left + static_cast<int>(map.columns.size()) * kCellWidth + kMargin,
                         .height = kHeatMapTop + static_cast<int>(map.rows.size()) * kCellHeight + kMargin,
                         .svg = draw_labels(map, left)};
    for (std::size_t row = 0; row < map.rows.size(); ++row) {
      for (std::size_t column = 0; column < map.columns.size(); ++column) {
        picture.svg += draw_cell(map.at(row, column), left + static_cast<int>(column) * kCellWidth,
                                 kHeatMapTop + static_cast<int>(row) * kCellHeight, facts, scale);
      }
    }
    picture.svg += draw_border(map, left);
    pictures.push_back(std::move(picture));
  }
  return pictures;
}

std::vector<LegendKey> heat_map_legend(const SweepFacts& facts) {
  const std::vector<SweepMap> maps = build_maps(facts.result);
  const HeatScale scale = scale_of(maps);
  std::set<Side> sides;
  std::set<bool> borders;  // whether they are sure
  for (const SweepMap& map : maps) {
    for (const SweepCell& cell : map.cells) sides.insert(side_of(cell.trial));
    for (const BorderEdge& edge : find_border(map)) borders.insert(edge.is_sure);
  }
  std::vector<LegendKey> legend;
  if (scale.most >= scale.least) {
    std::string steps;
    for (int i = 0; i < 4; ++i) {
      steps += fmt::format(
          "<rect class=\"heat\" x=\"{}\" y=\"1\" width=\"8\" height=\"14\" stroke=\"none\" fill-opacity=\"{:.2f}\"/>",
          i * 8, kPalest + (kDarkest - kPalest) * i / 3);
    }
    const std::string range =
        (scale.most == scale.least ? "" : to_string(scale.least) + " to ") + to_string(scale.most);
    legend.push_back({steps, fmt::format("{}: {} at the peak",
                                         sides.contains(Side::kUnsure) ? "fits, or is borderline" : "fits", range)});
  }
  const auto key = [&](bool is_shown, std::string_view svg, std::string_view text) {
    if (is_shown) legend.push_back({std::string(svg), std::string(text)});
  };
  key(sides.contains(Side::kTooLarge), "<rect class=\"unheated\" x=\"1\" y=\"1\" width=\"30\" height=\"14\"/>",
      "OOM: out of memory");
  key(sides.contains(Side::kUnsure),
      "<rect class=\"heat unsure\" x=\"1\" y=\"1\" width=\"30\" height=\"14\" "
      "fill-opacity=\"0.3\"/>",
      "!: borderline");
  key(sides.contains(Side::kUnknown), "<rect class=\"unheated unknown\" x=\"1\" y=\"1\" width=\"30\" height=\"14\"/>",
      "not known");
  key(borders.contains(true), "<path class=\"border\" d=\"M2 8h28\"/>", "border between what fits and what does not");
  key(borders.contains(false), "<path class=\"border unsure\" d=\"M2 8h28\"/>", "border beside what is borderline");
  return legend;
}

}  // namespace vramfit::report::page
