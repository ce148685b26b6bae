#include "report/page/sweep_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/layout.h"
#include "report/page/axis.h"
#include "report/page/html.h"
#include "report/sweep_map.h"

namespace vramfit::report::page {

using base::Bytes;

namespace {

constexpr int kSweepWidth = 960, kSweepHeight = 340;
constexpr double kSweepLeft = 76, kSweepRight = 24, kSweepTop = 30, kSweepBottom = 52, kSweepInset = 56;
constexpr double kLogarithmic = 30;  // from this ratio of the largest to the least on
constexpr std::size_t kSweepMostLetters = 16;

Bytes peak_of(const SweepPoint& point) { return point.trial->result.peaks->device; }

bool has_peak(const SweepPoint& point) {
  return point.trial->result.peaks.has_value() && side_of(point.trial) != Side::kUnknown;
}

std::vector<SweepLine> drawn_lines(const SweepFacts& facts) {
  std::vector<SweepLine> lines = build_lines(facts.result);
  for (SweepLine& line : lines) std::erase_if(line.points, [](const SweepPoint& point) { return !has_peak(point); });
  std::erase_if(lines, [](const SweepLine& line) { return line.points.empty(); });
  return lines;
}

// The card's memory; several where the card varies.
std::set<Bytes> limits_of(const std::vector<SweepLine>& lines) {
  std::set<Bytes> limits;
  for (const SweepLine& line : lines) {
    for (const SweepPoint& point : line.points) limits.insert(point.trial->result.total);
  }
  limits.erase(Bytes());  // not known
  return limits;
}

struct SweepScale {
  double least = 0, most = 1, most_bytes = 1;
  bool is_logarithmic = false;
  double x(double place) const {
    const double whole = kSweepWidth - kSweepLeft - kSweepRight - 2 * kSweepInset;
    if (most <= least) return kSweepLeft + kSweepInset + whole / 2;
    const double share =
        is_logarithmic ? std::log(place / least) / std::log(most / least) : (place - least) / (most - least);
    return kSweepLeft + kSweepInset + whole * share;
  }
  double y(Bytes bytes) const {
    return kSweepHeight - kSweepBottom -
           (kSweepHeight - kSweepTop - kSweepBottom) * static_cast<double>(bytes.count()) / most_bytes;
  }
};

// Where places are numbers, all lines have one range.
SweepScale scale_of(const SweepLine& line, const std::vector<SweepLine>& lines, Bytes most) {
  SweepScale scale{line.points.front().place, line.points.back().place, static_cast<double>(most.count())};
  for (const SweepLine& other : lines) {
    if (!line.is_numeric || !other.is_numeric) continue;
    scale.least = std::min(scale.least, other.points.front().place);
    scale.most = std::max(scale.most, other.points.back().place);
  }
  scale.is_logarithmic = line.is_numeric && scale.least > 0 && scale.most >= kLogarithmic * scale.least;
  return scale;
}

// Keeps texts from covering each other: the first one stays.
class Labels {
 public:
  bool take(double x, double y, std::string_view text) {
    const double half = static_cast<double>(columns(text)) * kLetter / 2 + 3;
    for (const Box& box : boxes_) {
      if (std::abs(box.x - x) < box.half + half && std::abs(box.y - y) < 15) return false;
    }
    boxes_.push_back({x, y, half});
    return true;
  }

 private:
  struct Box {
    double x, y, half;
  };
  std::vector<Box> boxes_;
};

std::string title_of(const SweepPoint& point, const SweepFacts& facts) {
  std::string verdict = point.trial->result.verdict;
  std::ranges::replace(verdict, '_', ' ');
  const std::int64_t number = facts.run_of(*point.trial).number;
  return fmt::format("{}: {}, it got to {}{}", describe_values(facts.result.spec, point.trial->values), verdict,
                     to_string(peak_of(point)), number > 0 ? fmt::format(", run {}", number) : "");
}

std::string draw_point(const SweepPoint& point, const SweepScale& scale, const SweepFacts& facts) {
  const double x = scale.x(point.place), y = scale.y(peak_of(point));
  const std::string title = "<title>" + escape(title_of(point, facts)) + "</title>";
  switch (side_of(point.trial)) {
    case Side::kFits:
      return fmt::format("<circle class=\"fits\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\">{}</circle>\n", x, y, title);
    case Side::kUnsure:
      return fmt::format("<path class=\"unsure-point\" d=\"M{:.1f} {:.1f}l7 7l-7 7l-7 -7Z\">{}</path>\n", x, y - 7,
                         title);
    default:
      return fmt::format("<path class=\"lost\" d=\"M{:.1f} {:.1f}l10 10m-10 0l10 -10\">{}</path>\n", x - 5, y - 5,
                         title);
  }
}

// What fits is named on its upper left and what does not on its right: away from the curve and from the border.
std::string draw_run(const SweepPoint& point, const SweepScale& scale, const SweepFacts& facts, Labels& labels) {
  const std::int64_t number = facts.run_of(*point.trial).number;
  if (number == 0) return "";
  const std::string text = fmt::format("run {}", number);
  const double width = static_cast<double>(text.size()) * kLetter;
  const bool fits = side_of(point.trial) == Side::kFits;
  const double left = fits ? std::max(kSweepLeft + 4, scale.x(point.place) - 9 - width)
                           : std::min(kSweepWidth - 4 - width, scale.x(point.place) + 6);
  const double at = scale.y(peak_of(point));
  const double y = fits || at > kSweepHeight - kSweepBottom - 26 ? at - 7 : at + 20;
  if (!labels.take(left + width / 2, y, text)) return "";
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", left, y, text);
}

std::string draw_points(const SweepLine& line, const SweepScale& scale, const SweepFacts& facts, Labels& labels) {
  std::string svg, path;
  for (const SweepPoint& point : line.points) {
    if (side_of(point.trial) != Side::kFits) continue;
    path += fmt::format("{:.1f},{:.1f} ", scale.x(point.place), scale.y(peak_of(point)));
  }
  if (line.is_numeric) svg += fmt::format("<polyline class=\"front\" points=\"{}\"/>\n", path);
  for (const SweepPoint& point : line.points) svg += draw_point(point, scale, facts);
  for (const SweepPoint& point : line.points) svg += draw_run(point, scale, facts, labels);
  return svg;
}

std::string border_text(const SweepPoint& left, const SweepPoint& right) {
  for (const SweepPoint* point : {&left, &right}) {
    if (side_of(point->trial) == Side::kUnsure) return shorten(point->value, kSweepMostLetters) + " is borderline";
  }
  const bool is_left = side_of(left.trial) == Side::kFits;
  return fmt::format("{} fits, {} does not", shorten(is_left ? left.value : right.value, kSweepMostLetters),
                     shorten(is_left ? right.value : left.value, kSweepMostLetters));
}

std::string draw_borders(const SweepLine& line, const SweepScale& scale, Labels& labels) {
  std::string svg;
  for (const std::size_t i : find_border(line)) {
    const SweepPoint &left = line.points[i], &right = line.points[i + 1];
    const bool is_sure = side_of(left.trial) != Side::kUnsure && side_of(right.trial) != Side::kUnsure;
    const double x = (scale.x(left.place) + scale.x(right.place)) / 2;
    svg += fmt::format("<path class=\"border{}\" d=\"M{:.1f} {}V{}\"/>\n", is_sure ? "" : " unsure", x, kSweepTop,
                       kSweepHeight - kSweepBottom);
    const std::string text = border_text(left, right);
    const bool is_right = x > kSweepWidth / 2.0;  // towards the middle, where there is room
    const double half = static_cast<double>(columns(text)) * kLetter / 2;
    double y = kSweepHeight - kSweepBottom - 10;
    while (y > kSweepTop + 20 && !labels.take(x + (is_right ? -half - 10 : half + 10), y, text)) y -= 17;
    svg += fmt::format("<text class=\"strong{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", is_right ? " end" : "",
                       x + (is_right ? -10 : 10), y, escape(text));
  }
  return svg;
}

std::string draw_axes(const SweepLine& line, const SweepScale& scale, const std::vector<Bytes>& levels) {
  std::string svg;
  for (const Bytes level : levels) {
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text class=\"end\" x=\"{}\" "
        "y=\"{:.1f}\">{}</text>\n",
        kSweepLeft, kSweepWidth - kSweepRight, scale.y(level), scale.y(level), kSweepLeft - 8, scale.y(level) + 4,
        tick_text(level));
  }
  // The values on the two sides of the border come first: others give way to them.
  std::vector<std::size_t> order = find_border(line);
  for (std::size_t i = 0; i < line.points.size(); ++i) order.push_back(i);
  Labels labels;
  for (const std::size_t i : order) {
    const double x = scale.x(line.points[i].place);
    const std::string text = shorten(line.points[i].value, kSweepMostLetters);
    if (!labels.take(x, 0, text)) continue;
    svg += fmt::format("<text class=\"middle\" x=\"{:.1f}\" y=\"{}\">{}</text>\n", x, kSweepHeight - kSweepBottom + 20,
                       escape(text));
  }
  return svg + fmt::format("<text class=\"end strong\" x=\"{}\" y=\"{}\">{}{}</text>\n", kSweepWidth - kSweepRight,
                           kSweepHeight - 10, escape(shorten(line.name, 60)),
                           scale.is_logarithmic ? ", on a logarithmic scale" : "");
}

// One line over all, or, where the card varies, a piece at each trial.
std::string draw_limits(const SweepLine& line, const SweepScale& scale, const std::set<Bytes>& limits, Labels& labels) {
  if (limits.size() == 1) {
    const std::string text = "the card's memory: " + to_string(*limits.begin());
    const double y = scale.y(*limits.begin()), half = static_cast<double>(columns(text)) * kLetter / 2;
    labels.take(kSweepLeft + 6 + half, y - 6, text);
    return fmt::format(
        "<line class=\"limit\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text class=\"strong\" x=\"{}\" "
        "y=\"{:.1f}\">{}</text>\n",
        kSweepLeft, kSweepWidth - kSweepRight, y, y, kSweepLeft + 6, y - 6, text);
  }
  std::string svg;
  for (const SweepPoint& point : line.points) {
    const Bytes total = point.trial->result.total;
    if (total.count() == 0) continue;
    svg += fmt::format("<path class=\"limit\" d=\"M{:.1f} {:.1f}h60\"><title>{}</title></path>\n",
                       scale.x(point.place) - 30, scale.y(total), "the card's memory: " + to_string(total));
  }
  return svg;
}

std::string spoken_of(const SweepLine& line) {
  std::string spoken =
      fmt::format("Peak memory against {}{}{}.", line.name, line.title.empty() ? "" : ", with ", line.title);
  for (const std::size_t i : find_border(line)) spoken += " " + border_text(line.points[i], line.points[i + 1]) + ".";
  return spoken + " The table below holds the numbers.";
}

}  // namespace

std::vector<SweepPicture> draw_sweep_lines(const SweepFacts& facts) {
  const std::vector<SweepLine> lines = drawn_lines(facts);
  const std::set<Bytes> limits = limits_of(lines);
  Bytes most = limits.empty() ? Bytes() : *limits.rbegin();
  for (const SweepLine& line : lines) {
    for (const SweepPoint& point : line.points) most = std::max(most, peak_of(point));
  }
  const std::vector<Bytes> levels = byte_ticks(most, 5);
  std::vector<SweepPicture> pictures;
  for (const SweepLine& line : lines) {
    const SweepScale scale = scale_of(line, lines, levels.back());
    Labels labels;
    std::string svg = draw_axes(line, scale, levels) + draw_limits(line, scale, limits, labels);
    const std::string points = draw_points(line, scale, facts, labels);
    svg += draw_borders(line, scale, labels) + points;
    pictures.push_back({line.title, spoken_of(line), kSweepWidth, kSweepHeight, std::move(svg)});
  }
  return pictures;
}

std::vector<LegendKey> sweep_lines_legend(const SweepFacts& facts) {
  const std::vector<SweepLine> lines = drawn_lines(facts);
  if (lines.empty()) return {};
  std::set<Side> sides;
  bool has_border = false;
  for (const SweepLine& line : lines) {
    for (const SweepPoint& point : line.points) sides.insert(side_of(point.trial));
    has_border = has_border || !find_border(line).empty();
  }
  std::vector<LegendKey> legend;
  if (sides.contains(Side::kFits)) legend.push_back({"<circle class=\"fits\" cx=\"16\" cy=\"8\" r=\"6\"/>", "fits"});
  if (sides.contains(Side::kUnsure)) {
    legend.push_back({"<path class=\"unsure-point\" d=\"M16 1l7 7l-7 7l-7 -7Z\"/>", "borderline"});
  }
  if (sides.contains(Side::kTooLarge)) {
    legend.push_back({"<path class=\"lost\" d=\"M11 3l10 10m-10 0l10 -10\"/>", "out of memory: the most it got to"});
  }
  legend.push_back({"<path class=\"limit\" d=\"M0 8h32\"/>", "the card's memory"});
  if (has_border)
    legend.push_back({"<path class=\"border\" d=\"M16 1v14\"/>", "border between what fits and what does not"});
  return legend;
}

}  // namespace vramfit::report::page
