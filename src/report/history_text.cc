#include "report/history_text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <optional>

#include "report/layout.h"

namespace vramfit::report {

using base::Bytes;
using model::RunState;
using model::StoredRun;

namespace {

constexpr std::size_t kBarWidth = 24;

std::string when(std::int64_t ms) {
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  return fmt::format("{:%Y-%m-%d %H:%M}", local);
}

// A command without what all commands have in common: the interpreter and its folder.
std::string short_command(const StoredRun& run) {
  std::string text;
  for (std::size_t i = 0; i < run.start.command.size(); ++i) {
    const std::string& word = run.start.command[i];
    if (i == 0 && word.find("python") != std::string::npos && run.start.command.size() > 1) continue;
    text += (text.empty() ? "" : " ") + (i <= 1 ? word.substr(word.rfind('/') + 1) : word);
  }
  return text;
}

std::string peak_text(const std::optional<Bytes>& peak, std::string_view unknown = "-") {
  return peak ? to_string(*peak) : std::string(unknown);
}

std::string wall_seconds_text(double seconds) { return seconds > 0 ? fmt::format("{:.1f} s", seconds) : "-"; }

std::string bar(Bytes part, Bytes whole) {
  if (whole.count() <= 0) return "";
  const double share = static_cast<double>(part.count()) / static_cast<double>(whole.count());
  std::string text;
  for (auto i = std::lround(share * kBarWidth); i > 0; --i) text += "█";
  return text;
}

// "+1.20 GiB (+12 %)" against the first run.
std::string change(const std::optional<Bytes>& first, const std::optional<Bytes>& peak) {
  if (!first || !peak) return "";
  const Bytes delta = *peak - *first;
  if (delta.count() == 0) return "same";
  const double share =
      100.0 * static_cast<double>(delta.count()) / static_cast<double>(std::max<std::int64_t>(1, first->count()));
  const std::string size = to_string(delta.count() < 0 ? -delta : delta);
  return fmt::format("{}{} ({:+.0f} %)", delta.count() < 0 ? "-" : "+", size, share);
}

void add_fact(std::string& text, std::string_view name, const std::string& value) {
  if (value.empty()) return;
  constexpr std::size_t kValueIndent = 12;
  text += wrap(fmt::format("  {:<9} {}", name, value), kPageWidth, kValueIndent) + "\n";
}

std::string describe_git(const model::GitState& git) {
  if (git.commit.empty()) return "";
  return fmt::format("{} on {}{}", git.commit.substr(0, 12), git.branch,
                     git.has_changes ? ", with changes not committed" : "");
}

void add_peaks(std::string& text, const StoredRun& run) {
  const Column number{Align::kRight, 12};
  if (!run.end.devices.empty()) {
    std::vector<std::vector<std::string>> rows = {{"card", "allocated", "reserved", "device", "of"}};
    for (const model::CardFigures& device : run.end.devices) {
      rows.push_back({fmt::format("{} {}", device.index, device.name), peak_text(device.allocated),
                      peak_text(device.reserved), peak_text(device.device), peak_text(device.total, "?")});
    }
    text += "\nPeaks\n" + table({{Align::kLeft, 26}, number, number, number, number}, rows);
  }
  if (run.end.phases.empty()) return;
  std::vector<std::vector<std::string>> rows = {{"phase", "card", "steps", "allocated", "reserved", "device"}};
  for (const model::PhaseResult& phase : run.end.phases) {
    rows.push_back({phase.name, fmt::format("{}", phase.device), fmt::format("{}", phase.steps),
                    to_string(phase.peaks.allocated), to_string(phase.peaks.reserved), to_string(phase.peaks.device)});
  }
  text +=
      "\nPhases\n" + table({{Align::kLeft, 10}, {Align::kRight, 4}, {Align::kRight, 6}, number, number, number}, rows);
}

// Runs with the same value stand together: "RTX 3060: 1, 2   RTX 3090: 3".
void add_difference(std::string& text, const model::Comparison& comparison, const model::Difference& difference) {
  std::vector<std::pair<std::string, std::string>> groups;
  for (std::size_t i = 0; i < difference.values.size(); ++i) {
    const std::string number = fmt::format("{}", comparison.runs[i].number);
    const auto found = std::ranges::find(groups, difference.values[i], &std::pair<std::string, std::string>::first);
    if (found == groups.end()) {
      groups.emplace_back(difference.values[i], number);
    } else {
      found->second += ", " + number;
    }
  }
  text += fmt::format("  {}\n", difference.what);
  for (const auto& [value, numbers] : groups) {
    text += "    " + wrap(fmt::format("{}: {}", numbers, value.empty() ? "(none)" : value), kPageWidth - 4, 8) + "\n";
  }
}

void add_memory(std::string& text, const model::Comparison& comparison) {
  Bytes most;
  for (const auto& peaks : comparison.peaks) {
    if (peaks) most = std::max(most, *peaks);
  }
  std::vector<std::vector<std::string>> rows = {{"run", "at the peak", "", "against the first", "took"}};
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    const auto& peaks = comparison.peaks[i];
    rows.push_back({fmt::format("{}", comparison.runs[i].number), peak_text(peaks), peaks ? bar(*peaks, most) : "",
                    i == 0 ? "" : change(comparison.peaks[0], peaks),
                    wall_seconds_text(comparison.runs[i].end.wall_seconds)});
  }
  text +=
      "\nMemory of the fullest card\n" +
      table(
          {{Align::kRight, 5}, {Align::kRight, 11}, {Align::kLeft, kBarWidth}, {Align::kRight, 20}, {Align::kRight, 9}},
          rows);
}

void add_phases(std::string& text, const model::Comparison& comparison) {
  if (comparison.phases.empty()) return;
  constexpr std::size_t kPerTable = 5;  // columns that 80 characters hold
  for (std::size_t first = 0; first < comparison.runs.size(); first += kPerTable) {
    const std::size_t end = std::min(comparison.runs.size(), first + kPerTable);
    std::vector<Column> columns = {{Align::kLeft, 16}};
    std::vector<std::vector<std::string>> rows = {{"phase"}};
    for (std::size_t i = first; i < end; ++i) {
      columns.push_back({Align::kRight, 10});
      rows[0].push_back(fmt::format("run {}", comparison.runs[i].number));
    }
    for (const model::ComparedNumber& phase : comparison.phases) {
      rows.push_back({phase.what});
      for (std::size_t i = first; i < end; ++i) rows.back().push_back(peak_text(phase.peaks[i]));
    }
    text += "\nPeaks of the phases\n" + table(columns, rows);
  }
}

}  // namespace

std::string outcome_of(const StoredRun& run) {
  return run.state == RunState::kEnded ? run.end.verdict : std::string(to_string(run.state));
}

std::string history_to_text(const std::vector<StoredRun>& runs) {
  if (runs.empty()) return "No runs yet: `vramfit run` and `vramfit fit` note theirs here.\n";
  std::vector<std::vector<std::string>> rows = {{"run", "when", "verb", "outcome", "peak", "command", "tags"}};
  for (const StoredRun& run : runs) {
    rows.push_back({fmt::format("{}", run.number), when(run.started_ms).substr(5), run.start.verb, outcome_of(run),
                    peak_text(fullest_peak(run)), short_command(run),
                    fmt::format("{}", fmt::join(run.tags, " ")) + (run.note.empty()   ? ""
                                                                   : run.tags.empty() ? "*"
                                                                                      : " *")});
  }
  // What tags leave free belongs to the command.
  const bool has_tags =
      std::ranges::any_of(rows, [](const auto& row) { return row.back() != "" && row.back() != "tags"; });
  if (!has_tags) {
    for (auto& row : rows) row.pop_back();
  }
  const std::size_t command_width = has_tags ? 14 : 24;
  return table({{Align::kRight, 5},
                {Align::kLeft, 11},
                {Align::kLeft, 6},
                {Align::kLeft, 13},
                {Align::kRight, 9},
                {Align::kLeft, command_width},
                {Align::kLeft, 8}},
               rows) +
         "\nvramfit show N tells one, vramfit compare N M sets them side by side; * has a note.\n";
}

std::string stored_run_to_text(const StoredRun& run) {
  std::string text = fmt::format("Run {}: {} {}\n\n", run.number, run.start.verb, outcome_of(run));
  add_fact(text, "command", fmt::format("{}", fmt::join(run.start.command, " ")));
  add_fact(text, "in", run.start.folder);
  add_fact(text, "script",
           run.start.script.empty() ? "" : run.start.script + " (" + run.start.script_hash.substr(0, 12) + ")");
  add_fact(text, "git", describe_git(run.start.git));
  add_fact(text, "card", run.start.card);
  add_fact(text, "plan", run.start.plan);
  add_fact(text, "with",
           run.end.torch.empty() ? "" : fmt::format("torch {}, Python {}", run.end.torch, run.end.python));
  add_fact(text, "on", fmt::format("{}, vramfit {}", run.start.host, run.start.version));
  add_fact(text, "began", when(run.started_ms));
  if (run.state == RunState::kEnded) {
    add_fact(text, "took", wall_seconds_text(run.end.wall_seconds));
    add_fact(text, "exit", fmt::format("{}", run.end.exit_code));
  }
  if (run.start.parent) add_fact(text, "trial of", fmt::format("run {}", *run.start.parent));
  add_fact(text, "tags", fmt::format("{}", fmt::join(run.tags, " ")));
  add_fact(text, "note", run.note);
  add_fact(text, "because", run.end.reason);
  add_peaks(text, run);
  if (!run.end.findings.empty()) text += "\nFindings\n";
  for (const model::StoredFinding& finding : run.end.findings) {
    text += "  " + wrap(fmt::format("{} {}: {}", finding.code, finding.label, finding.text), kPageWidth - 2, 4) + "\n";
  }
  if (run.state == RunState::kInterrupted) text += "\nIts process ended before it could tell a result.\n";
  return text;
}

std::string comparison_to_text(const model::Comparison& comparison) {
  std::string text = comparison.differences.empty() ? "Nothing of what is noted differs.\n" : "What differs\n";
  for (const model::Difference& difference : comparison.differences) add_difference(text, comparison, difference);
  add_memory(text, comparison);
  add_phases(text, comparison);
  return text;
}

}  // namespace vramfit::report
