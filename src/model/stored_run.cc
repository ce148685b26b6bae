#include "model/stored_run.h"

#include <array>
#include <utility>

namespace vramfit::model {

namespace {

constexpr std::array<std::pair<RunState, std::string_view>, 3> kStates = {
    {{RunState::kRunning, "running"}, {RunState::kEnded, "ended"}, {RunState::kInterrupted, "interrupted"}}};

}  // namespace

std::string_view to_string(RunState state) {
  for (const auto& [known, name] : kStates) {
    if (known == state) return name;
  }
  return "?";
}

std::optional<RunState> parse_run_state(std::string_view text) {
  for (const auto& [known, name] : kStates) {
    if (name == text) return known;
  }
  return std::nullopt;
}

}  // namespace vramfit::model
