#include "facts/step_window.h"

#include <algorithm>

namespace vramfit::facts {
namespace {

using base::Bytes;
using liveness::CardHistory;
using liveness::EventIndex;

bool is_training(const liveness::Level& level, std::uint8_t stage) {
  return level.phase == VF_PHASE_TRAIN && level.stage == stage;
}

// The last forward and backward between two ends of steps.
std::optional<StepWindow> find_last_pass(const CardHistory& history, EventIndex from, EventIndex to) {
  StepWindow window{from, to, to};
  const auto& levels = history.levels;
  while (window.end > from && !is_training(levels[window.end - 1], VF_STAGE_BACKWARD)) --window.end;
  EventIndex at = window.end;
  for (; at > from && !is_training(levels[at - 1], VF_STAGE_FORWARD); --at) {
    if (is_training(levels[at - 1], VF_STAGE_BACKWARD)) window.turn = at - 1;
  }
  if (at == from || window.end == from) return std::nullopt;
  // An evaluation, a save or the loading before it is not of the pass.
  const auto is_before_backward = [&](const liveness::Level& level) {
    return level.phase == VF_PHASE_TRAIN && level.stage != VF_STAGE_BACKWARD;
  };
  while (at > from && is_before_backward(levels[at - 1])) --at;
  window.begin = at;
  return window;
}

}  // namespace

Bytes find_highest(const CardHistory& history, EventIndex from, EventIndex to) {
  Bytes most;
  for (EventIndex at = from; at < to; ++at) most = std::max(most, history.levels[at].allocated);
  return most;
}

std::optional<StepWindow> find_fullest_step(const CardHistory& history) {
  std::optional<StepWindow> fullest;
  Bytes most;
  EventIndex from = 0;
  int process = -1;
  for (const liveness::StepEnd& end : history.step_ends) {
    if (end.phase != VF_PHASE_TRAIN) continue;
    if (process >= 0 && end.process != process) return std::nullopt;
    process = end.process;
    const auto to = std::min<EventIndex>(end.at + 1, static_cast<EventIndex>(history.levels.size()));
    const auto window = from < to ? find_last_pass(history, from, to) : std::nullopt;
    from = std::max(from, to);
    if (!window) continue;
    const Bytes peak = find_highest(history, window->begin, window->end);
    if (peak < most) continue;
    most = peak;
    fullest = window;
  }
  return fullest;
}

}  // namespace vramfit::facts
