#include "history/run_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

namespace vramfit::history {

using model::PeakPoint;
using model::PeakSeries;
using model::RunGroup;
using model::StoredRun;

namespace {

constexpr std::string_view kNoTag = "without a tag";

std::string joined_command(const StoredRun& run) { return fmt::format("{}", fmt::join(run.start.command, " ")); }

// What tells jobs apart: the script's whole path, else folder and command.
std::string job_key(const StoredRun& run) {
  const std::filesystem::path folder(run.start.folder);
  if (run.start.script.empty()) return (folder / "").string() + '\n' + joined_command(run);
  return (folder / run.start.script).lexically_normal().string();
}

std::string job_title(const StoredRun& run) {
  const std::string& script = run.start.script;
  return script.empty() ? joined_command(run) : script.substr(script.rfind('/') + 1);
}

PeakPoint point_of(const StoredRun& run) {
  PeakPoint point{.number = run.number, .peak = {}, .ran_out = run.end.verdict == "out_of_memory"};
  point.peak = fullest_peak(run);
  return point;
}

void add_to(std::vector<RunGroup>& groups, std::map<std::string, std::size_t>& known, const std::string& key,
            const std::string& title, std::size_t run) {
  const auto [found, is_new] = known.try_emplace(key, groups.size());
  if (is_new) groups.push_back({title, {}, {}});
  groups[found->second].runs.push_back(run);
}

PeakSeries series_of(const std::vector<StoredRun>& runs, const RunGroup& group) {
  PeakSeries series{group.title, {}};
  for (const std::size_t run : group.runs) series.points.push_back(point_of(runs[run]));
  std::ranges::reverse(series.points);
  return series;
}

}  // namespace

std::optional<GroupBy> parse_group_by(std::string_view word) {
  if (word.empty()) return GroupBy::kNothing;
  if (word == "tag") return GroupBy::kTag;
  if (word == "script") return GroupBy::kScript;
  return std::nullopt;
}

model::PeaksByScript peaks_by_script(const std::vector<StoredRun>& runs) {
  model::PeaksByScript peaks;
  peaks.series_of.resize(runs.size());
  for (RunGroup& group : group_runs(runs, GroupBy::kScript)) {
    for (const std::size_t run : group.runs) peaks.series_of[run] = peaks.series.size();
    peaks.series.push_back(std::move(group.peaks));
  }
  return peaks;
}

std::vector<RunGroup> group_runs(const std::vector<StoredRun>& runs, GroupBy by) {
  std::vector<RunGroup> groups;
  std::map<std::string, std::size_t> known;
  RunGroup untagged{std::string(kNoTag), {}, {}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (by == GroupBy::kScript) add_to(groups, known, job_key(runs[i]), job_title(runs[i]), i);
    if (by != GroupBy::kTag) continue;
    for (const std::string& tag : runs[i].tags) add_to(groups, known, tag, tag, i);
    if (runs[i].tags.empty()) untagged.runs.push_back(i);
  }
  if (!untagged.runs.empty()) groups.push_back(std::move(untagged));
  for (RunGroup& group : groups) group.peaks = series_of(runs, group);
  return groups;
}

}  // namespace vramfit::history
