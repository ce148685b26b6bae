#include "report/page/sweep_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "report/page/heat_map.h"
#include "report/page/html.h"
#include "report/page/sweep_lines.h"
#include "report/sweep_map.h"
#include "report/sweep_text.h"

namespace vramfit::report::page {

using model::Trial;
using model::TrialState;

namespace {

std::string legend_html(const std::vector<LegendKey>& keys) {
  std::string html;
  for (const LegendKey& key : keys) {
    html += fmt::format("<li><svg class=\"sample\" viewBox=\"0 0 32 16\" aria-hidden=\"true\">{}</svg> {}</li>",
                        key.svg, escape(key.text));
  }
  return "<ul class=\"legend\">" + html + "</ul>\n";
}

// Maps keep their size and lie beside each other; charts are as wide as the page.
std::string picture_html(const SweepPicture& picture, const std::string& name, bool is_map) {
  const std::string title = picture.title.empty() ? name : name + ", " + picture.title;
  const std::string size =
      is_map ? fmt::format(" width=\"{}\" height=\"{}\"", picture.width, picture.height) : std::string();
  return fmt::format(
      "<figure><figcaption>{0}</figcaption>\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
      "aria-label=\"{1}\"><svg class=\"{2}\"{3} viewBox=\"0 0 {4} {5}\" role=\"img\" aria-label=\"{6}\">\n{7}</svg>"
      "</div></figure>\n",
      escape(picture.title.empty() ? name : picture.title), escape(title), is_map ? "map" : "chart", size,
      picture.width, picture.height, escape(picture.spoken), picture.svg);
}

std::string pictures_html(const std::vector<SweepPicture>& pictures, const std::vector<LegendKey>& legend,
                          const std::string& name, bool is_map) {
  if (pictures.empty()) return "";
  std::string html = legend_html(legend) + fmt::format("<div class=\"{}\">\n", is_map ? "maps" : "lines");
  for (const SweepPicture& picture : pictures) html += picture_html(picture, name, is_map);
  return html + "</div>\n";
}

std::string answers(const model::SweepResult& result) {
  std::vector<std::string> items;
  for (const model::Largest& largest : result.largest) items.push_back(largest_line(result.spec, largest));
  return list(items);
}

std::string outcome_of(const Trial& trial) {
  if (trial.state != TrialState::kDone) return trial.state == TrialState::kLost ? "ended without a result" : "not run";
  std::string verdict = trial.result.verdict;
  std::ranges::replace(verdict, '_', ' ');
  return verdict;
}

// A trial that ran out would have wanted more than it got.
std::string peak_of(const Trial& trial) {
  if (!trial.result.peaks) return "unknown";
  const std::string peak = to_string(trial.result.peaks->device);
  return side_of(&trial) == Side::kTooLarge ? "over " + peak : peak;
}

// An error's message goes on with advice; the run's own page has all of it.
std::string first_sentences(const std::string& text) {
  std::size_t end = 0;
  for (int sentence = 0; sentence < 2 && end != std::string::npos; ++sentence) end = text.find(". ", end + 1);
  return end == std::string::npos ? text : text.substr(0, end + 1);
}

std::string run_cell(const TrialRun& run) {
  if (run.number == 0) return "not kept";
  if (run.link.empty()) return fmt::format("{}", run.number);
  return fmt::format("<a href=\"{}\">{}</a>", escape(run.link), run.number);
}

std::vector<std::string> trial_cells(const SweepFacts& facts, const Trial& trial) {
  const model::SweepSpec& spec = facts.result.spec;
  std::vector<std::string> cells;
  for (const std::string& value : trial.values) cells.push_back(escape(value));
  cells.resize(spec.variables.size() + (spec.goal ? 1 : 0));
  const bool is_done = trial.state == TrialState::kDone;
  cells.push_back(escape(outcome_of(trial)));
  cells.push_back(peak_of(trial));
  cells.push_back(trial.result.total.count() > 0 ? to_string(trial.result.total) : "unknown");
  cells.push_back(is_done ? fmt::format("{:.1f} s", trial.result.wall_seconds) : "unknown");
  cells.push_back(run_cell(facts.run_of(trial)));
  cells.push_back(side_of(&trial) == Side::kFits ? "" : escape(first_sentences(trial.result.reason)));
  return cells;
}

std::string trial_table(const SweepFacts& facts) {
  const model::SweepSpec& spec = facts.result.spec;
  std::vector<TableColumn> columns;
  for (const model::SweepVariable& variable : spec.variables) columns.push_back({variable.name});
  if (spec.goal) columns.push_back({spec.goal->name});
  for (const auto& [title, is_number] : std::array<std::pair<const char*, bool>, 6>{{{"outcome", false},
                                                                                     {"at the peak", true},
                                                                                     {"of", true},
                                                                                     {"took", true},
                                                                                     {"run", true},
                                                                                     {"because", false}}}) {
    columns.push_back({title, is_number});
  }
  std::vector<std::vector<std::string>> rows;
  for (const Trial& trial : facts.result.trials) rows.push_back(trial_cells(facts, trial));
  return rows.empty() ? paragraph("No trial was run.") : table("Every trial, as it was run", columns, rows);
}

}  // namespace

std::string sweep_section(const SweepFacts& facts, std::int64_t run, int level) {
  const bool is_search = facts.result.spec.goal.has_value();
  const std::string of = fmt::format(" (run {})", run);
  const std::string map_name =
      (is_search ? "The largest " + facts.result.spec.goal->name + " that fits" : "Peak memory and the border") + of;
  return heading(level, "Map") + answers(facts.result) +
         pictures_html(draw_heat_maps(facts), heat_map_legend(facts), map_name, true) +
         pictures_html(draw_sweep_lines(facts), sweep_lines_legend(facts), "Peak memory of each trial" + of, false) +
         heading(level, "Trials") + trial_table(facts);
}

}  // namespace vramfit::report::page
