#include "report/sweep_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/layout.h"
#include "report/sweep_map.h"

namespace vramfit::report {

using model::SweepResult;
using model::SweepSpec;
using model::Trial;
using model::TrialState;

namespace {

std::string_view mark_of(const Trial& trial) {
  if (trial.state != TrialState::kDone) return "[?]";
  if (trial.result.verdict == "fits") return "[✓]";
  return trial.result.verdict == "borderline" ? "[!]" : "[✗]";
}

std::string peak_of(const Trial& trial) { return trial.result.peaks ? to_string(trial.result.peaks->device) : "-"; }

std::string cell_of(const SweepCell& cell) {
  if (cell.largest != nullptr && cell.largest->fits) return fmt::format("{}", *cell.largest->fits);
  if (cell.trial == nullptr || cell.trial->state != TrialState::kDone) return "?";
  const std::string& verdict = cell.trial->result.verdict;
  if (verdict == "fits") return peak_of(*cell.trial);
  if (verdict == "borderline") return "! " + peak_of(*cell.trial);
  if (verdict == "out_of_memory") return "OOM";
  return verdict;
}

// A map that is wider than the page goes on below.
void add_map(std::string& text, const SweepMap& map) {
  constexpr std::size_t kPerTable = 4;  // columns that 80 characters hold
  if (!map.title.empty()) text += "\n" + map.title + "\n";
  for (std::size_t first = 0; first < map.columns.size(); first += kPerTable) {
    const std::size_t end = std::min(map.columns.size(), first + kPerTable);
    std::vector<std::vector<std::string>> rows = {{fmt::format("{} \\ {}", map.down, map.right)}};
    std::vector<Column> columns = {{Align::kLeft, 22}};
    for (std::size_t column = first; column < end; ++column) {
      rows[0].push_back(map.columns[column]);
      columns.push_back({Align::kRight, 12});
    }
    for (std::size_t row = 0; row < map.rows.size(); ++row) {
      rows.push_back({map.rows[row]});
      for (std::size_t column = first; column < end; ++column) rows.back().push_back(cell_of(map.at(row, column)));
    }
    text += (first > 0 ? "\n" : "") + table(columns, rows);
  }
}

void add_maps(std::string& text, const SweepResult& result) {
  const std::vector<SweepMap> maps = build_maps(result);
  if (maps.empty()) return;
  text += result.spec.goal ? fmt::format("\nThe largest {} that fits; OOM where none does\n", result.spec.goal->name)
                           : "\nPeak memory where it fits; OOM where it does not\n";
  for (const SweepMap& map : maps) add_map(text, map);
}

}  // namespace

std::string trial_line(const SweepSpec& spec, const Trial& trial, bool was_known) {
  const std::string state = trial.state == TrialState::kDone ? trial.result.verdict : "ended without a result";
  std::string line = fmt::format("{} {}: {}", mark_of(trial), describe_values(spec, trial.values), state);
  if (trial.result.peaks) line += fmt::format(", {} at the peak", peak_of(trial));
  if (trial.state == TrialState::kDone) line += fmt::format(", {:.1f} s", trial.result.wall_seconds);
  if (was_known) line += " (from before)";
  if (trial.result.verdict == "failed" && !trial.result.reason.empty()) line += ": " + trial.result.reason;
  return wrap(line, kPageWidth, 6);
}

std::string largest_line(const SweepSpec& spec, const model::Largest& largest) {
  const std::string& name = spec.goal->name;
  const std::string where = largest.values.empty() ? "" : describe_values(spec, largest.values) + ": ";
  if (!largest.obstacle.empty()) {
    return fmt::format("[!] {}the search for the largest {} could not end: {}{}", where, name, largest.obstacle,
                       largest.fits ? fmt::format("; {} fits", *largest.fits) : "");
  }
  if (!largest.fits && largest.too_large) {
    if (largest.is_borderline) {
      return fmt::format("[!] {}not even {} {} surely fits: it is borderline", where, name, *largest.too_large);
    }
    return fmt::format("[✗] {}not even {} {} fits", where, name, *largest.too_large);
  }
  if (largest.fits && largest.too_large && *largest.too_large == *largest.fits + 1) {
    const std::string_view next =
        largest.is_borderline ? "is borderline (it may fit on a real card, or not)" : "does not";
    return fmt::format("[✓] {}{} {} fits, {} {}; both were run", where, name, *largest.fits, *largest.too_large, next);
  }
  if (largest.fits && !largest.too_large && *largest.fits == spec.goal->high) {
    return fmt::format("[✓] {}{} {} fits, the largest that was asked for", where, name, *largest.fits);
  }
  return fmt::format("[?] {}the search for the largest {} was not finished{}", where, name,
                     largest.fits ? fmt::format("; {} fits", *largest.fits) : "");
}

namespace {

bool has_fitted(const Trial& trial) { return trial.state == TrialState::kDone && trial.result.fits(); }

}  // namespace

Mark sweep_verdict_mark(const SweepResult& result) {
  if (result.interrupted) return Mark::kUnsure;
  return std::ranges::any_of(result.trials, has_fitted) ? Mark::kGood : Mark::kBad;
}

std::string sweep_verdict_line(const SweepResult& result) {
  const auto done = static_cast<std::size_t>(std::ranges::count(result.trials, TrialState::kDone, &Trial::state));
  std::string line = fmt::format("{} {} of {} trials fit", sign(sweep_verdict_mark(result)),
                                 std::ranges::count_if(result.trials, has_fitted), done);
  if (done < result.trials.size()) line += fmt::format("; {} have no result", result.trials.size() - done);
  if (result.interrupted) line += "; interrupted, the same command goes on from here";
  return line;
}

namespace {

// Each once: the trials of a sweep mostly run on one torch.
void add_untested(std::string& text, const SweepResult& result) {
  std::set<std::string> sentences;
  for (const Trial& trial : result.trials) sentences.insert(trial.result.untested.begin(), trial.result.untested.end());
  if (!sentences.empty()) text += "\n";
  for (const std::string& sentence : sentences) text += wrap("[!] " + sentence, kPageWidth, 4) + "\n";
}

}  // namespace

std::string sweep_to_text(const SweepResult& result) {
  std::string text;
  for (const model::Largest& largest : result.largest) {
    text += wrap(largest_line(result.spec, largest), kPageWidth, 4) + "\n";
  }
  add_maps(text, result);
  add_untested(text, result);
  text += fmt::format("\n{} trials, {:.1f} s; all of them lie in {}\n", result.trials.size(), result.seconds,
                      result.folder);
  text += wrap(sweep_verdict_line(result), kPageWidth, 4) + "\n";
  return text;
}

}  // namespace vramfit::report
