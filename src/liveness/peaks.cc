#include "liveness/peaks.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "model/number_text.h"

namespace vramfit::liveness {

namespace {

void raise(model::Peaks& peaks, const Level& moment) {
  peaks.allocated = std::max(peaks.allocated, moment.allocated);
  peaks.reserved = std::max(peaks.reserved, moment.reserved);
  peaks.device = std::max(peaks.device, moment.device);
}

EventIndex first_highest(const CardHistory& history, Bytes Level::*level) {
  const auto highest = std::ranges::max_element(history.levels, {}, level);
  return static_cast<EventIndex>(highest - history.levels.begin());
}

}  // namespace

model::Peaks find_peaks(const CardHistory& history) {
  model::Peaks peaks;
  for (const Level& moment : history.levels) raise(peaks, moment);
  return peaks;
}

std::vector<model::PhaseResult> find_phase_peaks(const CardHistory& history) {
  std::map<std::uint8_t, model::Peaks> by_phase;
  for (const Level& moment : history.levels) raise(by_phase[moment.phase], moment);
  std::vector<model::PhaseResult> rows;
  for (const auto& [phase, peaks] : by_phase) {
    const std::int64_t steps = phase < history.steps.size() ? history.steps[phase] : 0;
    rows.push_back({std::string(model::phase_name(phase)), history.device, peaks, steps});
  }
  return rows;
}

EventIndex find_peak_event(const CardHistory& history) {
  EventIndex best = kNever;
  for (EventIndex at = 0; at < history.levels.size(); ++at) {
    const Level& moment = history.levels[at];
    if (best == kNever) {
      best = at;
      continue;
    }
    const Level& highest = history.levels[best];
    if (std::pair(moment.reserved, moment.allocated) > std::pair(highest.reserved, highest.allocated)) best = at;
  }
  return best;
}

EventIndex find_fullest_with(const CardHistory& history, EventIndex moment) {
  EventIndex fullest = moment;
  for (EventIndex at = 0; at < history.levels.size(); ++at) {
    const Level& level = history.levels[at];
    if (level.reserved == history.levels[moment].reserved && level.device >= history.levels[fullest].device) {
      fullest = at;
    }
  }
  return fullest;
}

std::vector<model::TimelinePoint> build_timeline(const CardHistory& history, std::size_t limit) {
  std::vector<model::TimelinePoint> points;
  const auto add = [&](EventIndex at, std::string mark) {
    const Level& moment = history.levels[at];
    const auto used = moment.device.count() < 0 ? std::nullopt : std::optional(moment.device);
    points.push_back({moment.at_ns, history.device, std::string(model::phase_name(moment.phase)), moment.allocated,
                      moment.reserved, std::move(mark), used});
  };
  const std::size_t marks = std::min(history.marks.size(), limit / 2);
  for (std::size_t i = 0; i < marks; ++i) add(history.marks[i].at, history.marks[i].text);
  const std::size_t count = history.levels.size();
  if (count == 0) return points;
  // The fullest stretch of tensors need not be the card's.
  std::set<EventIndex> chosen = {first_highest(history, &Level::reserved), first_highest(history, &Level::device)};
  const std::size_t stretches = std::min(count, limit - marks - std::min(chosen.size(), limit - marks));
  for (std::size_t i = 0; i < stretches; ++i) {
    const std::size_t first = i * count / stretches, last = (i + 1) * count / stretches;
    const auto highest = std::max_element(history.levels.begin() + static_cast<std::ptrdiff_t>(first),
                                          history.levels.begin() + static_cast<std::ptrdiff_t>(last),
                                          [](const Level& a, const Level& b) { return a.allocated < b.allocated; });
    chosen.insert(static_cast<EventIndex>(highest - history.levels.begin()));
  }
  for (const EventIndex at : chosen) add(at, "");
  std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.at_ns < b.at_ns; });
  return points;
}

}  // namespace vramfit::liveness
