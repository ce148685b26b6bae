// Made by tools/generate_contract from python/vramfit/contract: change that, not this.
#ifndef VRAMFIT_MODEL_NUMBER_NAMES_H
#define VRAMFIT_MODEL_NUMBER_NAMES_H

#include <array>
#include <string_view>

namespace vramfit::model {

inline constexpr auto kPhaseNames = std::to_array<std::string_view>({"load", "train", "validate", "test", "save"});
inline constexpr auto kStageNames = std::to_array<std::string_view>({"other", "forward", "backward", "optimizer", "input"});

}  // namespace vramfit::model

#endif
