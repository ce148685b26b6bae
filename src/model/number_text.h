// The names of enum vf_phase and enum vf_stage as the result spells them: "train", "forward". Which numbers there are.
#ifndef VRAMFIT_MODEL_NUMBER_TEXT_H
#define VRAMFIT_MODEL_NUMBER_TEXT_H

#include <vramfit/numbers.h>

#include <cstdint>
#include <string_view>

#include "model/number_names.h"

namespace vramfit::model {

// A number that nobody knows is "unknown" as a phase, and "other" as a stage.
std::string_view phase_name(std::uint8_t phase);
std::string_view stage_name(std::uint8_t stage);
constexpr bool is_evaluation(std::string_view phase) {
  return phase == model::phase::kValidate || phase == model::phase::kTest;
}
constexpr bool is_evaluation(std::uint8_t phase) { return phase == VF_PHASE_VALIDATE || phase == VF_PHASE_TEST; }
// Whether a number is one of enum vf_owner.
constexpr bool is_owner(std::int64_t number) { return number >= 0 && number < kOwnerCount; }
inline constexpr int kPhaseCount = static_cast<int>(kPhaseNames.size());
inline constexpr int kStageCount = static_cast<int>(kStageNames.size());

}  // namespace vramfit::model

#endif
