#include "model/snapshot.h"

#include <gtest/gtest.h>

namespace vramfit::model {
namespace {

TEST(Snapshot, a_stack_gives_its_frames_back_and_none_has_no_frames) {
  Snapshot snapshot;
  const FrameId inner = snapshot.add_frame("model.py", "forward", 12);
  const FrameId outer = snapshot.add_frame("train.py", "main", 40);
  const StackId first = snapshot.add_stack(std::vector{inner, outer});
  const StackId second = snapshot.add_stack(std::vector{outer});
  EXPECT_TRUE(snapshot.stack(StackId::kNone).empty());
  ASSERT_EQ(snapshot.stack(first).size(), 2u);
  EXPECT_EQ(snapshot.text(snapshot.frame(snapshot.stack(first)[0]).function), "forward");
  ASSERT_EQ(snapshot.stack(second).size(), 1u);
  EXPECT_EQ(snapshot.frame(snapshot.stack(second)[0]).line, 40);
}

TEST(Snapshot, every_word_of_the_file_is_read_back_from_its_name) {
  for (int i = 0; i <= static_cast<int>(TraceAction::kUnknown); ++i) {
    const auto action = static_cast<TraceAction>(i);
    EXPECT_EQ(parse_trace_action(trace_action_name(action)), action);
  }
  for (int i = 0; i <= static_cast<int>(BlockState::kUnknown); ++i) {
    const auto state = static_cast<BlockState>(i);
    EXPECT_EQ(parse_block_state(block_state_name(state)), state);
  }
  EXPECT_EQ(parse_block_state("active_awaiting_free"), BlockState::kActivePendingFree);
  EXPECT_EQ(parse_trace_action("a word of tomorrow"), TraceAction::kUnknown);
}

}  // namespace
}  // namespace vramfit::model
