#include "liveness/growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/grouped_number.h"
#include "liveness/growing_lines.h"
#include "liveness/rise.h"
#include "liveness/step_series.h"
#include "liveness/whole_growth.h"
#include "model/number_text.h"
#include "model/recording.h"

namespace vramfit::liveness {

using model::Growth;

namespace {

constexpr std::size_t kMostLevels = 64;

Growth measure(const CardHistory& history, const StepSeries& series, const model::Recording& recording) {
  Growth growth;
  growth.device = history.device;
  growth.phase = model::phase_name(series.phase);
  find_lines_of_generations(history, series, recording, growth);
  const std::size_t first = series.ends.size() - std::min(series.ends.size(), kMostLevels);
  growth.first_step = series.ends[first].number;
  for (std::size_t i = first; i < series.ends.size(); ++i) {
    growth.levels.push_back(history.levels[series.ends[i].at].allocated);
  }
  return growth;
}

// What rises only past the budget, in the rounds of a loop that was moved on:
// python/vramfit/steer/counting_on/rounds.py saw that it does, and here is which lines it comes of. Its steps are
// numbered as the script counts them.
std::vector<Growth> find_late(const CardHistory& history, const StepSeries& series, const model::Recording& recording) {
  std::vector<Growth> found;
  for (const auto& note : recording.notes.late_growth) {
    const std::int64_t moved_at = note.steps, rounds = note.rounds;
    const auto is_later = [&](const StepEnd& end) { return end.number > moved_at; };
    const auto first = std::ranges::find_if(series.ends, is_later);
    if (first == series.ends.begin() || series.ends.end() - first < rounds || rounds <= 0) continue;
    StepSeries late{series.process, series.phase, std::prev(first)->at, {first, first + rounds}, false};
    Growth growth;
    growth.device = history.device;
    growth.phase = model::phase_name(series.phase);
    growth.begins_at = growth.first_step = note.value;
    growth.per_step = note.bytes_per_round;
    growth.steps = rounds;
    for (const StepEnd& end : late.ends) growth.levels.push_back(history.levels[end.at].allocated);
    find_lines_that_stay(history, late, recording, growth);
    if (!growth.lines.empty()) found.push_back(std::move(growth));  // else what a step leaves behind got larger
  }
  return found;
}

std::int64_t total(const Growth& growth) { return growth.per_step.count() * growth.steps; }

}  // namespace

std::vector<Growth> find_growth(const CardHistory& history, std::span<const model::Recording> recordings) {
  std::map<std::pair<int, std::uint8_t>, Growth> most;
  std::vector<Growth> late;
  std::vector<StepSeries> all = find_step_series(history);
  for (StepSeries& series : all) {
    const model::Recording& recording = recordings[static_cast<std::size_t>(series.process)];
    if (series.phase == VF_PHASE_TRAIN) {
      std::ranges::move(find_late(history, series, recording), std::back_inserter(late));
      leave_out_cut_steps(recording, series);
    }
    if (series.ends.size() < kFewestGenerations) continue;
    Growth growth = measure(history, series, recording);
    if (series.phase == VF_PHASE_TRAIN && series.ends.size() >= kFewestLevels) {
      judge_whole(history, series, recording, growth);
    }
    if (growth.steps == 0 && serves(series, all)) {
      series.of_calls = true;
      if (!judge_calls(history, series, recording, growth)) continue;
    }
    if (growth.steps == 0) continue;
    Growth& known = most[{series.process, series.phase}];
    if (known.steps == 0 || total(growth) > total(known)) known = std::move(growth);
  }
  std::vector<Growth> found;
  for (auto& [key, growth] : most) found.push_back(std::move(growth));
  std::ranges::move(late, std::back_inserter(found));
  return found;
}

std::vector<Growth> find_growth_of_calls(const CardHistory& history, std::span<const model::Recording> recordings) {
  std::vector<Growth> growths;
  for (std::size_t process = 0; process < recordings.size(); ++process) {
    const auto series = series_of_calls(history, static_cast<int>(process), recordings[process]);
    if (!series) continue;
    Growth growth = measure(history, *series, recordings[process]);
    if (judge_calls(history, *series, recordings[process], growth)) growths.push_back(std::move(growth));
  }
  return growths;
}

std::int64_t count_judged_calls(const CardHistory& history, std::span<const model::Recording> recordings) {
  std::int64_t most = 0;
  for (std::size_t process = 0; process < recordings.size(); ++process) {
    const auto series = series_of_calls(history, static_cast<int>(process), recordings[process]);
    if (series) most = std::max(most, static_cast<std::int64_t>(series->ends.size()));
  }
  return most;
}

std::int64_t count_judged_steps(const CardHistory& history, std::span<const model::Recording> recordings) {
  std::int64_t most = 0;
  for (const StepSeries& series : find_step_series(history)) {
    if (series.phase != VF_PHASE_TRAIN) continue;
    const model::Recording& recording = recordings[static_cast<std::size_t>(series.process)];
    const auto in_full =
        std::ranges::count_if(series.ends, [&](const StepEnd& end) { return is_in_full(recording, end); });
    most = std::max(most, static_cast<std::int64_t>(in_full));
  }
  return most;
}

std::optional<std::int64_t> find_end(const Growth& growth, Bytes room) {
  if (growth.per_step.count() <= 0 || room.count() < 0) return std::nullopt;
  const auto last = growth.first_step + static_cast<std::int64_t>(growth.levels.size()) - 1;
  if (growth.faster <= 0) return last + room.count() / growth.per_step.count() + 1;
  // What the last steps add, which is more than the average; the last eighth or so was not judged (rise.cc).
  const double now =
      static_cast<double>(growth.per_step.count()) + growth.faster * static_cast<double>(growth.steps) * 5 / 8;
  const double left =
      (std::sqrt(now * now + 2 * growth.faster * static_cast<double>(room.count())) - now) / growth.faster;
  return last + static_cast<std::int64_t>(left) + 1;
}

namespace {

// 2910057 -> "2,910,057"
}  // namespace

std::string describe_growth(const Growth& growth) {
  if (growth.per_step.count() <= 0) return "memory was still growing when the run was ended: perhaps a leak";
  const bool of_passes = growth.unit == "pass";
  const std::string rhythm = growth.every > 1 ? fmt::format("every {} {}", growth.every, of_passes ? "passes" : "steps")
                                              : "every " + growth.unit;
  const Bytes each(growth.per_step.count() * growth.every);
  const std::string since = growth.begins_at ? fmt::format("from about {} on, ", base::grouped(*growth.begins_at)) : "";
  std::string text = since + fmt::format("{} rises by {} {} of {}", growth.of_peak ? "what a step needs" : "memory",
                                         to_string(each), rhythm, of_passes ? "a loop" : growth.phase);
  if (!growth.lines.empty()) text += fmt::format(" ({})", growth.lines.front().line);
  if (growth.runs_out_at)
    text += fmt::format(": the card is full at about {} ", growth.unit) + base::grouped(*growth.runs_out_at) +
            (growth.faster > 0 ? " or sooner, as each adds more" : "");
  return text;
}

}  // namespace vramfit::liveness
