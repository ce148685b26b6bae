#include "liveness/step_memory.h"

#include <gtest/gtest.h>

#include "liveness/testing/recording_builder.h"
#include "model/recording.h"

namespace vramfit::liveness {
namespace {

using testing::RecordingBuilder;

constexpr std::int64_t kStepMib = 1 << 20;

TEST(StepMemory, each_step_has_its_own_peak_and_the_unfinished_one_comes_last) {
  RecordingBuilder builder;
  builder.segment(1, 100 * kStepMib);
  builder.alloc(0x1000, kStepMib).free(0x1000).emit(VF_RECORD_STEP, 0, 1);
  builder.alloc(0x1000, 3 * kStepMib).free(0x1000).emit(VF_RECORD_STEP, 0, 2);
  builder.alloc(0x1000, 9 * kStepMib);
  const std::vector<model::Recording> recordings{builder.build()};
  const auto peaks = find_step_peaks(build_histories(recordings).at(0));
  ASSERT_EQ(peaks.size(), 3u);
  EXPECT_EQ(peaks[0].allocated, Bytes::mib(1));
  EXPECT_EQ(peaks[1].allocated, Bytes::mib(3));
  EXPECT_EQ(peaks[2].allocated, Bytes::mib(9));
  EXPECT_EQ(peaks[2].number, 3);
}

TEST(StepMemory, augmentation_is_what_the_input_stage_holds_beside_the_models_inputs) {
  RecordingBuilder builder;
  builder.segment(1, 100 * kStepMib);
  builder.stage = VF_STAGE_INPUT;
  builder.alloc(0x1000'0000, 2 * kStepMib, "", "train.py:4 in train").tag(0x1000'0000, VF_OWNER_INPUT);
  builder.alloc(0x2000'0000, 8 * kStepMib, "", "train.py:5 in augment");
  builder.free(0x2000'0000);
  builder.stage = VF_STAGE_FORWARD;
  builder.alloc(0x3000'0000, kStepMib, "ColorJitter").alloc(0x4000'0000, 4 * kStepMib, "conv1");
  const std::vector<model::Recording> recordings{builder.build()};
  const auto work = find_input_work(build_histories(recordings).at(0), recordings, {"ColorJitter"}, {});
  ASSERT_EQ(work.size(), 1u);
  EXPECT_TRUE(work[0].peak_is_here);
  EXPECT_EQ(work[0].stage_peak, Bytes::mib(8));
  EXPECT_EQ(work[0].at_peak, Bytes::mib(8));
  EXPECT_EQ(work[0].inputs_at_peak, Bytes::mib(2));
  ASSERT_EQ(work[0].lines.size(), 1u);
  EXPECT_EQ(work[0].lines[0].line, "train.py:5 in augment");
}

TEST(StepMemory, what_a_loaders_thread_makes_meanwhile_is_no_augmentation) {
  RecordingBuilder builder;
  builder.segment(1, 100 * kStepMib);
  builder.stage = VF_STAGE_INPUT;
  builder.alloc(0x1000'0000, 2 * kStepMib, "", "train.py:5 in augment");
  builder.thread = 7;
  builder.alloc(0x2000'0000, 8 * kStepMib, "", "data.py:4 in pin_memory");
  const std::vector<model::Recording> recordings{builder.build()};
  const auto work = find_input_work(build_histories(recordings).at(0), recordings, {}, {{0, 7}});
  ASSERT_EQ(work.size(), 1u);
  EXPECT_EQ(work[0].stage_peak, Bytes::mib(2));
  EXPECT_EQ(find_thread_memory(build_histories(recordings).at(0), recordings, 0, 7).peak, Bytes::mib(8));
}

TEST(StepMemory, state_is_what_the_first_optimizer_step_leaves) {
  RecordingBuilder builder;
  builder.segment(1, 100 * kStepMib).alloc(0x1000'0000, 3 * kStepMib);
  builder.stage = VF_STAGE_OPTIMIZER;
  builder.alloc(0x2000'0000, 6 * kStepMib).alloc(0x3000'0000, kStepMib).free(0x3000'0000);
  builder.emit(VF_RECORD_STEP, 0, 1);
  builder.alloc(0x3000'0000, kStepMib).free(0x3000'0000);
  const std::vector<model::Recording> recordings{builder.build()};
  const auto first = find_first_step(build_histories(recordings).at(0));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->state, Bytes::mib(6));
  EXPECT_EQ(first->peak_before, Bytes::mib(3));
  EXPECT_EQ(first->peak_after, Bytes::mib(10));
  EXPECT_FALSE(first->out_of_memory);
}

TEST(StepMemory, an_end_within_the_first_optimizer_step_is_told) {
  RecordingBuilder builder;
  builder.segment(1, 100 * kStepMib).alloc(0x1000'0000, 3 * kStepMib);
  builder.stage = VF_STAGE_OPTIMIZER;
  builder.alloc(0x2000'0000, 2 * kStepMib).emit(VF_RECORD_OOM, 2 * kStepMib);
  const std::vector<model::Recording> recordings{builder.build()};
  const auto first = find_first_step(build_histories(recordings).at(0));
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->out_of_memory);
  EXPECT_EQ(first->state, Bytes::mib(2));
}

TEST(StepMemory, a_job_without_an_optimizer_has_no_first_step) {
  RecordingBuilder builder;
  builder.segment(1, 100 * kStepMib).alloc(0x1000'0000, 3 * kStepMib);
  const std::vector<model::Recording> recordings{builder.build()};
  EXPECT_FALSE(find_first_step(build_histories(recordings).at(0)));
}

TEST(StepMemory, an_address_is_found_by_the_time_it_was_seen) {
  RecordingBuilder builder;
  builder.at(10).segment(1, 100 * kStepMib).at(20).alloc(0x1000, kStepMib, "", "a.py:1 in f").at(30).free(0x1000);
  builder.at(40).alloc(0x1000, kStepMib, "", "a.py:2 in f");
  const std::vector<model::Recording> recordings{builder.build()};
  const auto history = build_histories(recordings).at(0);
  const auto line_at = [&](std::int64_t ns) {
    const Block* block = block_at(history, 0, 0x1010, event_at(history, ns));
    return block == nullptr ? std::string("none") : std::string(recordings[0].text(block->line));
  };
  EXPECT_EQ(line_at(25), "a.py:1 in f");
  EXPECT_EQ(line_at(35), "none");
  EXPECT_EQ(line_at(45), "a.py:2 in f");
  EXPECT_EQ(line_at(5), "none");
}

}  // namespace
}  // namespace vramfit::liveness
