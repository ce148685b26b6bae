#include "model/run_result.h"

#include <algorithm>

namespace vramfit::model {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
      return "fits";
    case Verdict::kBorderline:
      return "borderline";
    case Verdict::kOutOfMemory:
      return "out_of_memory";
    case Verdict::kNoCard:
      return "no_card";
    case Verdict::kFailed:
      break;
  }
  return "failed";
}

std::string_view to_string(FileChange change) {
  switch (change) {
    case FileChange::kCreated:
      return "created";
    case FileChange::kChanged:
      return "changed";
    case FileChange::kRemoved:
      break;
  }
  return "removed";
}

const DeviceResult* fullest(const RunResult& result) {
  const auto found = std::ranges::find(result.devices, result.peak_device, &DeviceResult::index);
  return found == result.devices.end() ? nullptr : &*found;
}

const DataDependence* find_chosen_branch(const RunResult& result) {
  const auto found = std::ranges::find(result.depends_on_data, true, &DataDependence::is_branch);
  return found == result.depends_on_data.end() ? nullptr : &*found;
}

const FrameworkMemory* find_framework(const RunResult& result, int device) {
  const FrameworkMemory* most = nullptr;
  for (const FrameworkMemory& memory : result.frameworks) {
    if (memory.device == device && (most == nullptr || memory.peak > most->peak)) most = &memory;
  }
  return most;
}

}  // namespace vramfit::model
