#include "report/page/comparison_section.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/page/comparison_chart.h"
#include "report/page/html.h"
#include "report/page/overlay_chart.h"

namespace vramfit::report::page {

using base::Bytes;
using model::Comparison;

namespace {

constexpr double kSparklineWidth = 240, kSparklineHeight = 14;

std::string bar(double part, double whole) {
  if (whole <= 0) return "";
  return fmt::format(
      "<svg class=\"inline-bar\" viewBox=\"0 0 {} {}\" aria-hidden=\"true\"><rect class=\"measure\" width=\"{:.1f}\" "
      "height=\"{}\"/></svg>",
      kSparklineWidth, kSparklineHeight, kSparklineWidth * part / whole, kSparklineHeight);
}

std::string change(const std::optional<Bytes>& first, const std::optional<Bytes>& peak) {
  if (!first || !peak) return "unknown";
  const Bytes delta = *peak - *first;
  if (delta.count() == 0) return "same";
  return (delta.count() < 0 ? "−" : "+") + to_string(delta.count() < 0 ? -delta : delta);
}

std::string peak_text(const std::optional<Bytes>& peak) { return peak ? to_string(*peak) : "unknown"; }

std::string memory_table(const Comparison& comparison) {
  double most = 0, longest = 0;
  for (const auto& peaks : comparison.peaks) {
    if (peaks) most = std::max(most, static_cast<double>(peaks->count()));
  }
  for (const model::StoredRun& run : comparison.runs) longest = std::max(longest, run.end.wall_seconds);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    const model::StoredRun& run = comparison.runs[i];
    const auto& peaks = comparison.peaks[i];
    const bool ended = run.state == model::RunState::kEnded;
    rows.push_back({fmt::format("<a href=\"#run-{0}\">run {0}</a>", run.number),
                    escape(ended ? run.end.verdict : std::string(to_string(run.state))), peak_text(peaks),
                    peaks ? bar(static_cast<double>(peaks->count()), most) : "",
                    i == 0 ? "" : change(comparison.peaks.front(), peaks),
                    run.end.wall_seconds > 0 ? fmt::format("{:.1f} s", run.end.wall_seconds) : "unknown",
                    run.end.wall_seconds > 0 ? bar(run.end.wall_seconds, longest) : ""});
  }
  return table("Memory of the fullest card, and time",
               {{"run"},
                {"outcome"},
                {"at the peak", true},
                {"memory side by side"},
                {"against the first", true},
                {"took", true},
                {"time side by side"}},
               rows);
}

std::vector<TableColumn> columns_of(const Comparison& comparison, std::string first, bool numbers) {
  std::vector<TableColumn> columns = {{std::move(first)}};
  for (const model::StoredRun& run : comparison.runs) columns.push_back({fmt::format("run {}", run.number), numbers});
  return columns;
}

}  // namespace

std::string comparison_section(const Comparison& comparison, const std::vector<ShownRun>& runs, int level) {
  std::string html = "<section>\n" + heading(level, "Side by side") + memory_table(comparison) + overlay_chart(runs);
  if (comparison.differences.empty()) {
    html += paragraph("Nothing of what is noted about these runs differs.");
  } else {
    std::vector<std::vector<std::string>> rows;
    for (const model::Difference& difference : comparison.differences) {
      rows.push_back({escape(difference.what)});
      for (const std::string& value : difference.values) rows.back().push_back(value.empty() ? "none" : escape(value));
    }
    html += table("What differs", columns_of(comparison, "what", false), rows);
  }
  std::vector<std::vector<std::string>> rows;
  for (const model::ComparedNumber& phase : comparison.phases) {
    rows.push_back({escape(phase.what)});
    for (const auto& peaks : phase.peaks) rows.back().push_back(peak_text(peaks));
  }
  if (!rows.empty()) html += table("Peaks of the phases", columns_of(comparison, "phase", true), rows);
  return html + comparison_chart(runs) + "</section>\n";
}

}  // namespace vramfit::report::page
