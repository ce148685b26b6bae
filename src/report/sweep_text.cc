#include "report/sweep_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/layout.h"

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

std::string describe_values(const SweepSpec& spec, const std::vector<std::string>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string& name = i < spec.variables.size() ? spec.variables[i].name : spec.goal->name;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, values[i]);
  }
  return text.empty() ? "as it is" : text;
}

std::string peak_of(const Trial& trial) { return trial.result.peaks ? to_string(trial.result.peaks->device) : "-"; }

const Trial* find_trial(const SweepResult& result, const std::vector<std::string>& values) {
  const auto found = std::ranges::find(result.trials, values, &Trial::values);
  return found == result.trials.end() ? nullptr : &*found;
}

std::string cell_of(const Trial* trial) {
  if (trial == nullptr || trial->state != TrialState::kDone) return "?";
  const std::string& verdict = trial->result.verdict;
  if (verdict == "fits") return peak_of(*trial);
  if (verdict == "borderline") return "! " + peak_of(*trial);
  if (verdict == "out_of_memory") return "OOM";
  return verdict;
}

// The last variable runs to the right, the one before it downwards; those before them make a map each.
void add_map(std::string& text, const SweepResult& result, const std::vector<std::string>& fixed) {
  const auto& variables = result.spec.variables;
  const model::SweepVariable& down = variables[variables.size() - 2];
  const model::SweepVariable& right = variables.back();
  if (!fixed.empty()) text += "\n" + describe_values(result.spec, fixed) + "\n";
  std::vector<std::vector<std::string>> rows = {{fmt::format("{} \\ {}", down.name, right.name)}};
  std::vector<Column> columns = {{Align::kLeft, 22}};
  for (const std::string& value : right.values) {
    rows[0].push_back(value);
    columns.push_back({Align::kRight, 12});
  }
  for (const std::string& y : down.values) {
    rows.push_back({y});
    for (const std::string& x : right.values) {
      std::vector<std::string> values = fixed;
      values.push_back(y);
      values.push_back(x);
      rows.back().push_back(cell_of(find_trial(result, values)));
    }
  }
  text += table(columns, rows);
}

void add_maps(std::string& text, const SweepResult& result) {
  const auto& variables = result.spec.variables;
  constexpr std::size_t kMostColumns = 5;  // that 80 characters hold
  if (variables.size() < 2 || variables.back().values.size() > kMostColumns) return;
  text += "\nPeak memory where it fits; OOM where it does not\n";
  std::vector<std::vector<std::string>> fixed = {{}};
  for (std::size_t i = 0; i + 2 < variables.size(); ++i) {
    std::vector<std::vector<std::string>> longer;
    for (const auto& values : fixed) {
      for (const std::string& value : variables[i].values) {
        longer.push_back(values);
        longer.back().push_back(value);
      }
    }
    fixed = std::move(longer);
  }
  for (const auto& values : fixed) add_map(text, result, values);
}

void add_largest(std::string& text, const SweepResult& result) {
  for (const model::Largest& largest : result.largest) {
    const std::string& name = result.spec.goal->name;
    const std::string where = largest.values.empty() ? "" : describe_values(result.spec, largest.values) + ": ";
    std::string line;
    if (!largest.obstacle.empty()) {
      line = fmt::format("[!] {}the search for the largest {} could not end: {}", where, name, largest.obstacle);
      if (largest.fits) line += fmt::format("; {} fits", *largest.fits);
    } else if (!largest.fits && largest.too_large) {
      line = fmt::format("[✗] {}not even {} {} fits", where, name, *largest.too_large);
    } else if (largest.fits && largest.too_large && *largest.too_large == *largest.fits + 1) {
      line =
          fmt::format("[✓] {}{} {} fits, {} does not; both were run", where, name, *largest.fits, *largest.too_large);
    } else if (largest.fits && !largest.too_large && *largest.fits == result.spec.goal->high) {
      line = fmt::format("[✓] {}{} {} fits, the largest that was asked for", where, name, *largest.fits);
    } else {
      line = fmt::format("[?] {}the search for the largest {} was not finished", where, name);
      if (largest.fits) line += fmt::format("; {} fits", *largest.fits);
    }
    text += wrap(line, kPageWidth, 4) + "\n";
  }
}

std::string verdict_line(const SweepResult& result) {
  std::size_t fits = 0, done = 0;
  for (const Trial& trial : result.trials) {
    done += trial.state == TrialState::kDone ? 1 : 0;
    fits += trial.state == TrialState::kDone && trial.result.fits() ? 1 : 0;
  }
  std::string line = fmt::format("{} {} of {} trials fit", fits > 0 ? "[✓]" : "[✗]", fits, done);
  if (done < result.trials.size()) line += fmt::format("; {} have no result", result.trials.size() - done);
  if (result.interrupted) line += "; interrupted, the same command goes on from here";
  return wrap(line, kPageWidth, 4);
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

std::string sweep_to_text(const SweepResult& result) {
  std::string text;
  add_largest(text, result);
  add_maps(text, result);
  text += fmt::format("\n{} trials, {:.1f} s; all of them lie in {}\n", result.trials.size(), result.seconds,
                      result.folder);
  text += verdict_line(result) + "\n";
  return text;
}

}  // namespace vramfit::report
