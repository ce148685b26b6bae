#include "model/number_text.h"

#include <gtest/gtest.h>
#include <vramfit/numbers.h>

namespace vramfit::model {
namespace {

TEST(NumberNames, are_those_of_the_contract) {
  EXPECT_EQ(phase_name(VF_PHASE_LOAD), "load");
  EXPECT_EQ(phase_name(VF_PHASE_SAVE), "save");
  EXPECT_EQ(phase_name(kPhaseCount - 1), "save") << "a new phase: lists of phases by hand need it too";
  EXPECT_EQ(stage_name(VF_STAGE_OTHER), "other");
  EXPECT_EQ(stage_name(VF_STAGE_INPUT), "input");
}

TEST(NumberNames, of_unknown_numbers_say_so) {
  EXPECT_EQ(phase_name(kPhaseCount), "unknown");
  EXPECT_EQ(phase_name(255), "unknown");
  EXPECT_EQ(stage_name(static_cast<std::uint8_t>(kStageNames.size())), "other");
  EXPECT_EQ(stage_name(255), "other");
}

}  // namespace
}  // namespace vramfit::model
