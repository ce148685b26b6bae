#include "report/page/plan_chart.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "report/page/axis.h"
#include "report/page/html.h"

namespace vramfit::report::page {

using base::Bytes;
using model::PlanRow;

namespace {

constexpr double kPlanWidth = 960, kSlimPlanWidth = 380, kPlanHeight = 340;
constexpr double kPlanLeft = 76, kPlanRight = 24, kPlanTop = 24, kPlanBottom = 52;

Bytes peak_of(const PlanRow& row) { return row.proven ? row.proven->device : row.predicted_peak; }

// A place in the picture; what has none is said below it.
bool has_place(const PlanRow& row) { return peak_of(row).count() > 0 && std::isfinite(row.time_factor); }

struct PlanScale {
  double width = kPlanWidth;  // kSlimPlanWidth for telephones, where letters of the wide picture would be tiny
  double most_factor = 1, most_bytes = 1;
  double x(double factor) const { return kPlanLeft + (width - kPlanLeft - kPlanRight) * factor / most_factor; }
  double y(Bytes bytes) const {
    return kPlanHeight - kPlanBottom -
           (kPlanHeight - kPlanTop - kPlanBottom) * static_cast<double>(bytes.count()) / most_bytes;
  }
};

// A disc has been proven to fit; a cross has not, and is not filled.
std::string draw_plan(const PlanRow& row, std::size_t number, bool fits, const PlanScale& scale) {
  const double x = scale.x(row.time_factor);
  const double y = scale.y(peak_of(row));
  const std::string title = fmt::format("<title>{}: {}, {}, {:.2f} times as long</title>", number,
                                        escape(row.plan.name), to_string(peak_of(row)), row.time_factor);
  const std::string shape =
      fits ? fmt::format("<circle class=\"fits\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\">{}</circle>", x, y, title)
           : fmt::format("<path class=\"lost\" d=\"M{:.1f} {:.1f}l10 10m-10 0l10 -10\">{}</path>", x - 5, y - 5, title);
  return shape + "\n";
}

// Plans at one place share a label, so that none covers another.
struct Label {
  double x = 0, y = 0;
  std::string text;
};

void add_label(std::vector<Label>& labels, double x, double y, std::size_t number) {
  constexpr double kNearX = 24, kNearY = 14;  // about the size of a label
  for (Label& label : labels) {
    if (std::abs(label.x - x) >= kNearX || std::abs(label.y - y) >= kNearY) continue;
    label.text += fmt::format(", {}", number);
    return;
  }
  labels.push_back({x, y, fmt::format("{}", number)});
}

std::string draw_plans(const model::FitResult& fit, const PlanScale& scale) {
  std::string svg;
  std::vector<Label> labels;
  std::size_t number = 0;
  for (const auto* rows : {&fit.plans, &fit.lost}) {
    for (const PlanRow& row : *rows) {
      ++number;
      if (!has_place(row)) continue;
      svg += draw_plan(row, number, rows == &fit.plans, scale);
      add_label(labels, scale.x(row.time_factor), scale.y(peak_of(row)), number);
    }
  }
  for (const Label& label : labels) {
    // Towards the middle, where there is room.
    const bool is_right = label.x > scale.width * 0.75;
    svg += fmt::format("<text{} x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", is_right ? " class=\"end\"" : "",
                       label.x + (is_right ? -9 : 9), label.y + 18, label.text);
  }
  return svg;
}

std::string draw_axes(const PlanScale& scale, const std::vector<Bytes>& levels, const std::vector<double>& factors) {
  std::string svg;
  for (const Bytes level : levels) {
    svg += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kPlanLeft,
                       scale.width - kPlanRight, scale.y(level), scale.y(level));
    svg += fmt::format("<text class=\"end\" x=\"{}\" y=\"{:.1f}\">{}</text>\n", kPlanLeft - 8, scale.y(level) + 4,
                       tick_text(level));
  }
  for (const double factor : factors) {
    svg += fmt::format("<text class=\"middle\" x=\"{:.1f}\" y=\"{}\">×{:.3g}</text>\n", scale.x(factor),
                       kPlanHeight - kPlanBottom + 20, factor);
  }
  return svg + fmt::format("<text class=\"end\" x=\"{}\" y=\"{}\">{}</text>\n", scale.width - kPlanRight,
                           kPlanHeight - 10,
                           scale.width < kPlanWidth ? "time of a step, against the job as it is"
                                                    : "time of a training step, against the job as it is");
}

std::string draw_front(const ShownRun& run, const PlanScale& scale) {
  std::string points;
  for (const std::size_t index : run.front) {
    const PlanRow& row = run.fit->plans[index];
    if (!has_place(row)) continue;
    points += fmt::format("{:.1f},{:.1f} ", scale.x(row.time_factor), scale.y(peak_of(row)));
  }
  return run.front.size() < 2 ? "" : fmt::format("<polyline class=\"front\" points=\"{}\"/>\n", points);
}

std::string draw_picture(const ShownRun& run, const PlanScale& scale, const std::vector<Bytes>& levels,
                         const std::vector<double>& factors) {
  const Bytes limit = run.fit->limit;
  std::string svg = draw_axes(scale, levels, factors) + draw_front(run, scale);
  svg += fmt::format(
      "<line class=\"limit\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text class=\"strong\" x=\"{}\" "
      "y=\"{:.1f}\">the card's memory: {}</text>\n",
      kPlanLeft, scale.width - kPlanRight, scale.y(limit), scale.y(limit), kPlanLeft + 6, scale.y(limit) - 6,
      to_string(limit));
  svg += draw_plans(*run.fit, scale);
  return fmt::format(
      "<svg class=\"chart{}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Peak of each plan against the time of a "
      "training step. The table of plans holds the numbers.\">\n{}</svg>\n",
      scale.width < kPlanWidth ? " slim" : "", scale.width, kPlanHeight, svg);
}

std::string without_place(const model::FitResult& fit) {
  std::vector<std::size_t> missing;
  std::size_t number = 0;
  for (const auto* rows : {&fit.plans, &fit.lost}) {
    for (const PlanRow& row : *rows) {
      ++number;
      if (!has_place(row)) missing.push_back(number);
    }
  }
  if (missing.empty()) return "";
  return paragraph(fmt::format("Not in the picture, because peak or time is not known: {}.", fmt::join(missing, ", ")));
}

}  // namespace

std::string plan_chart(const ShownRun& run) {
  const model::FitResult& fit = *run.fit;
  Bytes most = fit.limit;
  double most_factor = 1;
  for (const auto* rows : {&fit.plans, &fit.lost}) {
    for (const PlanRow& row : *rows) {
      if (!has_place(row)) continue;
      most = std::max(most, peak_of(row));
      most_factor = std::max(most_factor, row.time_factor);
    }
  }
  if (fit.plans.empty() && fit.lost.empty()) return "";
  const auto levels = byte_ticks(most, 5);
  std::string pictures[2];
  for (const bool is_slim : {false, true}) {
    const auto factors = round_ticks(most_factor * 1.05, is_slim ? 4 : 8);
    const PlanScale scale{is_slim ? kSlimPlanWidth : kPlanWidth, factors.back(),
                          static_cast<double>(levels.back().count())};
    pictures[is_slim ? 1 : 0] = draw_picture(run, scale, levels, factors);
  }
  return fmt::format(
      "<figure class=\"twofold\"><figcaption>Peak against time</figcaption>\n<ul class=\"legend\"><li><svg "
      "class=\"key\" viewBox=\"0 0 "
      "16 16\" aria-hidden=\"true\"><circle class=\"fits\" cx=\"8\" cy=\"8\" r=\"6\"/></svg> proven to fit</li>"
      "<li><svg class=\"key\" viewBox=\"0 0 16 16\" aria-hidden=\"true\"><path class=\"lost\" d=\"M3 3l10 10m-10 "
      "0l10 -10\"/></svg> not the answer: the highest a run got to, or the "
      "forecast</li><li>numbers: the rows of the table</li></ul>\n{}<div class=\"scroll picture\" "
      "tabindex=\"0\" role=\"group\" aria-label=\"Peak against time\">{}</div>{}</figure>\n",
      pictures[1], pictures[0], without_place(fit));
}

}  // namespace vramfit::report::page
