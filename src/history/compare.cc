#include "history/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

namespace vramfit::history {

using model::Comparison;
using model::StoredRun;

namespace {

std::string describe_git(const StoredRun& run) {
  const model::GitState& git = run.start.git;
  if (git.commit.empty()) return "";
  constexpr std::size_t kShort = 9;
  return git.commit.substr(0, kShort) + (git.has_changes ? " with changes" : "");
}

// The script's name and its hash: that is what tells an edited script. Hashes of different kinds, as earlier versions
// kept them, tell nothing.
std::string describe_script(const StoredRun& run, bool with_hash) {
  const std::string& path = run.start.script;
  if (path.empty()) return "";
  constexpr std::size_t kShort = 9;
  const std::string name = path.substr(path.rfind('/') + 1);
  return with_hash ? name + " " + run.start.script_hash.substr(0, kShort) : name;
}

bool have_comparable_hashes(const std::vector<StoredRun>& runs) {
  const auto kind = [](const StoredRun& run) { return run.start.script_hash.size(); };
  return std::ranges::adjacent_find(runs, std::not_equal_to<>(), kind) == runs.end();
}

void add_difference(Comparison& comparison, std::string what,
                    const std::function<std::string(const StoredRun&)>& value_of) {
  model::Difference difference{std::move(what), {}};
  for (const StoredRun& run : comparison.runs) difference.values.push_back(value_of(run));
  const auto& values = difference.values;
  if (std::ranges::adjacent_find(values, std::not_equal_to<>()) != values.end()) {
    comparison.differences.push_back(std::move(difference));
  }
}

void add_phases(Comparison& comparison) {
  const bool several = std::ranges::any_of(comparison.runs, [](const StoredRun& run) {
    return std::ranges::any_of(run.end.phases, [](const model::PhaseResult& phase) { return phase.device != 0; });
  });
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    for (const model::PhaseResult& phase : comparison.runs[i].end.phases) {
      const std::string what = several ? fmt::format("card {}, {}", phase.device, phase.name) : phase.name;
      auto row = std::ranges::find(comparison.phases, what, &model::ComparedNumber::what);
      if (row == comparison.phases.end()) {
        comparison.phases.push_back({what, std::vector<std::optional<base::Bytes>>(comparison.runs.size())});
        row = std::prev(comparison.phases.end());
      }
      row->peaks[i] = phase.peaks.device;
    }
  }
}

}  // namespace

Comparison compare(std::vector<StoredRun> runs) {
  Comparison comparison;
  comparison.runs = std::move(runs);
  add_difference(comparison, "verb", [](const StoredRun& run) { return run.start.verb; });
  add_difference(comparison, "command",
                 [](const StoredRun& run) { return fmt::format("{}", fmt::join(run.start.command, " ")); });
  add_difference(comparison, "folder", [](const StoredRun& run) { return run.start.folder; });
  const bool with_hash = have_comparable_hashes(comparison.runs);
  add_difference(comparison, "script", [&](const StoredRun& run) { return describe_script(run, with_hash); });
  add_difference(comparison, "git", describe_git);
  add_difference(comparison, "card", [](const StoredRun& run) { return run.start.card; });
  add_difference(comparison, "plan", [](const StoredRun& run) { return run.start.plan; });
  add_difference(comparison, "torch", [](const StoredRun& run) { return run.end.torch; });
  add_difference(comparison, "cuda", [](const StoredRun& run) { return run.end.cuda; });
  add_difference(comparison, "python", [](const StoredRun& run) { return run.end.python; });
  add_difference(comparison, "host", [](const StoredRun& run) { return run.start.host; });
  add_difference(comparison, "vramfit", [](const StoredRun& run) { return run.start.version; });
  add_difference(comparison, "verdict", [](const StoredRun& run) { return run.end.verdict; });
  for (const StoredRun& run : comparison.runs) comparison.peaks.push_back(fullest_peak(run));
  add_phases(comparison);
  return comparison;
}

}  // namespace vramfit::history
