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

std::optional<Peaks> fullest_peaks(const StoredRun& run) {
  const auto& devices = run.end.devices;
  if (devices.empty()) return std::nullopt;
  const auto by_peak = [](const DeviceResult& device) { return device.peaks.device; };
  const Peaks& most = std::ranges::max_element(devices, {}, by_peak)->peaks;
  // A job that failed before it came to a card took none of it that anybody saw.
  if (most.device.count() == 0) return std::nullopt;
  return most;
}

}  // namespace vramfit::model
