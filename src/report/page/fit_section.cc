#include "report/page/fit_section.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/layout.h"
#include "report/page/html.h"
#include "report/page/plan_chart.h"

namespace vramfit::report::page {

using model::PlanRow;

namespace {

std::string command(std::string_view what, const std::string& text) {
  if (text.empty()) return "";
  return fmt::format("<p>{}:</p>\n<pre tabindex=\"0\"><code>{}</code></pre>\n", escape(what), escape(text));
}

// A run that ran out would have wanted more than it got; what another kind of failure got to proves nothing.
std::string proven_text(const PlanRow& row) {
  using model::PlanStanding;
  if (!row.proven || row.standing == PlanStanding::kNotRun) return "not run";
  if (row.standing == PlanStanding::kDoesNotFit) return "over " + to_string(row.proven->device);
  const bool ended = row.standing == PlanStanding::kFits || row.standing == PlanStanding::kBorderline;
  return ended ? to_string(row.proven->device) : "nothing";
}

std::vector<std::string> plan_cells(const PlanRow& row, std::size_t number, bool on_front) {
  std::string remarks;
  for (const std::string& consequence : row.consequences) remarks += escape(consequence) + "<br>";
  if (row.equivalence) remarks += escape(row.equivalence->text) + "<br>";
  if (!row.reason.empty()) remarks += escape(row.reason);
  return {fmt::format("{}", number),
          escape(row.plan.name),
          escape(words_of(to_string(row.standing))) + (on_front ? ", on the front" : ""),
          to_string(row.predicted_peak),
          proven_text(row),
          fmt::format("×{:.2f}", row.time_factor),
          escape(row.effect.empty() ? "unknown" : row.effect),
          remarks};
}

std::string plan_table(const ShownRun& run) {
  const model::FitResult& fit = *run.fit;
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < fit.plans.size(); ++i) {
    rows.push_back(plan_cells(fit.plans[i], i + 1, std::ranges::find(run.front, i) != run.front.end()));
  }
  for (const PlanRow& row : fit.lost) rows.push_back(plan_cells(row, rows.size() + 1, false));
  if (rows.empty()) return paragraph("No plan was tried.");
  return table("Plans, best first; times are the model's, proven peaks are of runs",
               {{"no.", true},
                {"plan"},
                {"standing"},
                {"predicted", true},
                {"proven", true},
                {"time", true},
                {"what is learned"},
                {"remarks"}},
               rows);
}

std::string technique_table(const model::FitResult& fit) {
  std::vector<std::vector<std::string>> rows;
  for (const model::TechniqueRow& row : fit.techniques) {
    rows.push_back({escape(words_of(row.id)), escape(words_of(row.standing)), escape(row.reason)});
  }
  return rows.empty() ? ""
                      : details("What could be applied at all",
                                table("Techniques", {{"technique"}, {"standing"}, {"because"}}, rows));
}

}  // namespace

std::string fit_section(const ShownRun& run, int level) {
  const model::FitResult& fit = *run.fit;
  std::string html = heading(level, "Plans");
  if (fit.cause) {
    html += fmt::format("<div class=\"note\"><p>{}</p>{}{}</div>\n", escape(fit.cause->text),
                        fit.cause->line.empty() ? "" : "<p><code>" + escape(fit.cause->line) + "</code></p>",
                        paragraph(fit.cause->remedy));
  }
  html += plan_table(run) + plan_chart(run);
  html += paragraph(
      fmt::format("{} in {:.0f} s of {:.0f} s; {}, {} ruled out without a run.{}",
                  count_of(static_cast<std::size_t>(fit.runs), "run"), fit.seconds, fit.budget_seconds,
                  count_of(fit.candidates, "combination"), fit.ruled_out,
                  fit.cheapest_known && fit.only_foreseen == 0 ? " Nothing cheaper is left that could fit." : ""));
  html += command("Prove the best plan again", fit.prove_command);
  html += command("Train with it", fit.train_command);
  return html + technique_table(fit);
}

}  // namespace vramfit::report::page
