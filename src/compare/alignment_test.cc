#include "compare/alignment.h"

#include <gtest/gtest.h>

#include "compare/testing/streams.h"

namespace vramfit::compare {
namespace {

// Sizes rise, so that no place of it looks like another.
EventStream rising(std::int64_t from, std::int64_t to) {
  EventStream stream;
  for (std::int64_t size = from; size < to; ++size) stream.events.push_back(event(model::TraceAction::kAlloc, size));
  return stream;
}

TEST(Alignment, the_same_events_have_each_other_as_partners) {
  const Alignment found = align(rising(1, 100), rising(1, 100));
  EXPECT_TRUE(found.is_equal());
  EXPECT_EQ(found.same, 99u);
  EXPECT_EQ(found.partner.back(), 98u);
}

TEST(Alignment, an_extra_event_is_one_hunk) {
  const Alignment found = align(stream_of({"+1", "+2", "-1", "-2"}), stream_of({"+1", "+7", "+2", "-1", "-2"}));
  ASSERT_EQ(found.hunks, (std::vector<Hunk>{{1, 1, 1, 2}}));
  EXPECT_EQ(found.same, 4u);
  EXPECT_EQ(found.only_virtual, 1u);
  EXPECT_EQ(found.only_recorded, 0u);
}

TEST(Alignment, frees_that_change_places_are_moved_and_not_missing) {
  const Alignment found = align(stream_of({"+1", "+2", "-1", "-2", "+3"}), stream_of({"+1", "+2", "-2", "-1", "+3"}));
  EXPECT_EQ(found.same, 4u);
  EXPECT_EQ(found.moved, 1u);
  EXPECT_EQ(found.only_recorded + found.only_virtual, 0u);
  EXPECT_FALSE(found.is_equal());
}

TEST(Alignment, an_event_that_is_far_from_its_place_is_another_one) {
  EventStream early = rising(1, 5000), late = early;
  early.events.insert(early.events.begin(), event(model::TraceAction::kAlloc, 9999));
  late.events.push_back(event(model::TraceAction::kAlloc, 9999));
  const Alignment found = align(early, late);
  EXPECT_EQ(found.moved, 0u);
  EXPECT_EQ(found.only_recorded, 1u);
  EXPECT_EQ(found.only_virtual, 1u);
}

TEST(Alignment, a_recording_that_began_late_is_found_though_its_sizes_differ) {
  // Weights once, then steps of which each allocates so many blocks and gives them back.
  const auto job = [](std::int64_t scale) {
    EventStream stream = rising(1, 40);
    for (int blocks = 12; blocks < 60; blocks += 3) {
      for (int i = 1; i <= blocks; ++i) stream.events.push_back(event(model::TraceAction::kAlloc, i * scale));
      for (int i = 1; i <= blocks; ++i) stream.events.push_back(event(model::TraceAction::kFreeCompleted, i * scale));
    }
    return stream;
  };
  EventStream recorded = job(3000);
  const auto begin = recorded.events.begin() + 39;
  recorded.events.erase(recorded.events.begin(), begin);
  recorded.from_start = false;
  const Alignment found = align(recorded, job(2000));
  EXPECT_EQ(found.virtual_begin, 39u);
  EXPECT_EQ(found.virtual_calls, found.recorded_calls);
}

TEST(Alignment, a_recording_that_began_late_is_found_where_it_goes_on_longest) {
  EventStream recorded = rising(300, 500);
  recorded.from_start = false;
  EventStream whole = rising(1, 500);
  const EventStream bait = rising(300, 400);  // the same beginning, but then it goes on with something else
  whole.events.insert(whole.events.begin(), bait.events.begin(), bait.events.end());
  const Alignment found = align(recorded, whole);
  EXPECT_EQ(found.virtual_begin, 100u + 299u);
  EXPECT_TRUE(found.is_equal());
}

TEST(Alignment, what_comes_after_the_recordings_end_is_no_difference) {
  const Alignment found = align(rising(1, 200), rising(1, 1000));
  EXPECT_TRUE(found.is_equal());
  EXPECT_EQ(found.virtual_end, 199u);
}

TEST(Alignment, the_end_is_found_behind_a_difference_too) {
  EventStream recorded = rising(1, 200);
  recorded.events.erase(recorded.events.begin() + 50);
  const Alignment found = align(recorded, rising(1, 1000));
  EXPECT_EQ(found.virtual_end, 199u);
  EXPECT_EQ(found.only_virtual, 1u);
}

TEST(Alignment, streams_tell_events_of_one_size_apart) {
  EventStream recorded = stream_of({"+1", "+2"}), other = recorded;
  other.events[1].stream = 1;
  EXPECT_EQ(align(recorded, other).same, 1u);
}

}  // namespace
}  // namespace vramfit::compare
