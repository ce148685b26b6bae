#include "model/stored_run.h"

#include <algorithm>
#include <array>
#include <utility>

namespace vramfit::model {

namespace {

constexpr std::array<std::pair<RunState, std::string_view>, 3> kRunStates = {
    {{RunState::kRunning, "running"}, {RunState::kEnded, "ended"}, {RunState::kInterrupted, "interrupted"}}};

}  // namespace

std::string_view to_string(RunState state) {
  for (const auto& [known, name] : kRunStates) {
    if (known == state) return name;
  }
  return "?";
}

std::optional<RunState> parse_run_state(std::string_view text) {
  for (const auto& [known, name] : kRunStates) {
    if (name == text) return known;
  }
  return std::nullopt;
}

std::optional<Bytes> fullest_peak(const StoredRun& run) {
  std::optional<Bytes> most;
  for (const CardFigures& card : run.end.devices) most = std::max(most, card.device);  // none is less than any
  return most;
}

}  // namespace vramfit::model
