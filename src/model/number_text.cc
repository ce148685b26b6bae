#include "model/number_text.h"

#include <vramfit/numbers.h>

namespace vramfit::model {

std::string_view phase_name(std::uint8_t phase) { return phase < kPhaseNames.size() ? kPhaseNames[phase] : "unknown"; }

std::string_view stage_name(std::uint8_t stage) {
  return kStageNames[stage < kStageNames.size() ? stage : static_cast<std::uint8_t>(VF_STAGE_OTHER)];
}

}  // namespace vramfit::model
