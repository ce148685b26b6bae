#include "liveness/peaks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "liveness/testing/recording_builder.h"

namespace vramfit::liveness {
namespace {

using testing::RecordingBuilder;

CardHistory history_of(const RecordingBuilder& builder) {
  const std::vector recordings = {builder.build()};
  return build_histories(recordings).at(0);
}

TEST(Peaks, every_phase_has_its_own) {
  RecordingBuilder builder;
  builder.phase = VF_PHASE_LOAD;
  builder.context(1000).segment(0, 4096).alloc(0, 100);
  builder.phase = VF_PHASE_TRAIN;
  builder.alloc(200, 500).emit(VF_RECORD_STEP, 0, 1).emit(VF_RECORD_STEP, 0, 2).free(200);
  builder.phase = VF_PHASE_VALIDATE;
  builder.segment(8192, 4096).alloc(8192, 300);
  const auto rows = find_phase_peaks(history_of(builder));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].name, "load");
  EXPECT_EQ(rows[0].peaks, (model::Peaks{Bytes(100), Bytes(4096), Bytes(5096)}));
  EXPECT_EQ(rows[1].peaks, (model::Peaks{Bytes(600), Bytes(4096), Bytes(5096)}));
  EXPECT_EQ(rows[1].steps, 2);
  EXPECT_EQ(rows[2].peaks, (model::Peaks{Bytes(400), Bytes(8192), Bytes(9192)}));
}

//  reserved   ______        ______________
//                   |______|      *          two segments, one given back, two again: the fullest moment under the
//  allocated  __/\_____________/\__/\_       highest reservation explains the card's peak, not the fullest of all
TEST(Peaks, the_moment_to_explain_is_the_fullest_under_the_highest_reservation) {
  RecordingBuilder builder;
  builder.segment(0, 1000).alloc(0, 900).free(0);                            // 900 allocated of 1000
  builder.segment(5000, 3000).alloc(5000, 200).alloc(6000, 300).free(6000);  // 500 of 4000
  const CardHistory history = history_of(builder);
  const EventIndex at = find_peak_event(history);
  EXPECT_EQ(history.levels[at].reserved, Bytes(4000));
  EXPECT_EQ(history.levels[at].allocated, Bytes(500));
}

TEST(Peaks, an_empty_history_has_no_moment) { EXPECT_EQ(find_peak_event(CardHistory()), kNever); }

TEST(Peaks, the_timeline_keeps_the_highest_point_and_the_marks) {
  RecordingBuilder builder;
  for (int i = 0; i < 3000; ++i) {
    if (i == 1500) builder.emit(VF_RECORD_MARK, 0, 0, "halfway");
    builder.alloc(64, i == 2222 ? 5000 : 10).free(64);
  }
  const auto points = build_timeline(history_of(builder), 100);
  EXPECT_LE(points.size(), 100u);
  EXPECT_TRUE(std::ranges::any_of(points, [](const auto& point) { return point.allocated == Bytes(5000); }));
  EXPECT_TRUE(std::ranges::any_of(points, [](const auto& point) { return point.mark == "halfway"; }));
  EXPECT_TRUE(std::ranges::is_sorted(points, {}, &model::TimelinePoint::at_ns));
}

//  reserved  ___|^^|_________      a segment that comes and goes between two fuller moments of tensors
TEST(Peaks, the_timeline_keeps_the_highest_of_the_card) {
  RecordingBuilder builder;
  builder.context(100).segment(0, 4096);
  for (int i = 0; i < 1000; ++i) {
    if (i == 333) builder.segment(8192, 4096).alloc(8192, 1).free(8192).free_segment(8192, 4096);
    builder.alloc(64, 10).free(64);
  }
  const CardHistory history = history_of(builder);
  const auto points = build_timeline(history, 50);
  EXPECT_LE(points.size(), 50u);
  const auto fullest = std::ranges::max_element(points, {}, &model::TimelinePoint::used);
  EXPECT_EQ(fullest->used, find_peaks(history).device);
  EXPECT_EQ(std::ranges::max_element(points, {}, &model::TimelinePoint::reserved)->reserved, Bytes(8192));
}

TEST(Peaks, a_card_that_nothing_has_told_is_not_known) {
  RecordingBuilder builder;
  builder.alloc(64, 10);
  EXPECT_EQ(build_timeline(history_of(builder), 10).at(0).used, std::nullopt);
}

}  // namespace
}  // namespace vramfit::liveness
