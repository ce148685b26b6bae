#include "model/recording.h"

#include <array>

namespace vramfit::model {

std::string_view phase_name(std::uint8_t phase) {
  static constexpr std::array<std::string_view, kPhaseCount> kNames = {"load", "train", "validate", "test", "save"};
  return phase < kNames.size() ? kNames[phase] : "unknown";
}

}  // namespace vramfit::model
