#include "compare/places.h"

#include <gtest/gtest.h>

#include "compare/testing/streams.h"

namespace vramfit::compare {
namespace {

using model::TraceAction;
constexpr std::int64_t kPlacedMib = 1 << 20;

EventStream with(std::vector<Event> events) {
  EventStream stream;
  stream.events = std::move(events);
  stream.has_places = true;
  return stream;
}

//   0x10000000 | 100 |        a segment elsewhere, with its block at the same offset, is the same place
//   0x90000000 | 100 |
TEST(Places, another_address_is_the_same_place) {
  const EventStream recorded = with(
      {event(TraceAction::kSegmentAlloc, 2 * kPlacedMib, 0x10000000), event(TraceAction::kAlloc, 100, 0x10000200)});
  const EventStream run = with(
      {event(TraceAction::kSegmentAlloc, 2 * kPlacedMib, 0x90000000), event(TraceAction::kAlloc, 100, 0x90000200)});
  const PlaceCount count = compare_places(recorded, run, align(recorded, run));
  EXPECT_EQ(count, (PlaceCount{1, 1, kNobody}));
}

TEST(Places, two_blocks_in_one_segment_are_not_in_two) {
  const Event a = event(TraceAction::kSegmentAlloc, 2 * kPlacedMib, 0x10000000),
              b = event(TraceAction::kSegmentAlloc, 2 * kPlacedMib, 0x20000000);
  const EventStream recorded =
      with({a, b, event(TraceAction::kAlloc, 100, 0x10000000), event(TraceAction::kAlloc, 100, 0x20000000)});
  const EventStream run =
      with({a, b, event(TraceAction::kAlloc, 100, 0x10000000), event(TraceAction::kAlloc, 100, 0x10000200)});
  EXPECT_EQ(compare_places(recorded, run, align(recorded, run)), (PlaceCount{1, 2, 3}));
}

TEST(Places, an_expandable_segment_grows) {
  const EventStream stream =
      with({event(TraceAction::kSegmentMap, 2 * kPlacedMib, 0x10000000),
            event(TraceAction::kSegmentMap, 2 * kPlacedMib, 0x10200000), event(TraceAction::kAlloc, 100, 0x10200400)});
  EXPECT_EQ(find_places(stream)[2], (SegmentOffset{0, 2 * kPlacedMib + 0x400}));
}

TEST(Places, a_segment_that_went_and_came_again_is_another_one) {
  const EventStream stream = with({event(TraceAction::kSegmentAlloc, 2 * kPlacedMib, 0x10000000),
                                   event(TraceAction::kSegmentFree, 2 * kPlacedMib, 0x10000000),
                                   event(TraceAction::kSegmentAlloc, 2 * kPlacedMib, 0x10000000),
                                   event(TraceAction::kAlloc, 100, 0x10000000)});
  EXPECT_EQ(find_places(stream)[3].segment, 1u);
}

TEST(Places, blocks_outside_all_known_segments_have_no_place) {
  EXPECT_EQ(find_places(with({event(TraceAction::kAlloc, 100, 0x500)}))[0].segment, kNobody);
}

//   ... | 40 MiB  | 20 | 40 MiB |      packed from low addresses up: segments lie across multiples of 32 MiB
TEST(AddressOrder, packed_segments_are_wsls) {
  std::vector<Event> events;
  std::uint64_t at = 0x502000000;
  for (int i = 0; i < 6; ++i) {
    events.push_back(event(TraceAction::kSegmentAlloc, 20 * kPlacedMib, at));
    at += 20 * kPlacedMib;
  }
  EXPECT_EQ(find_address_order(with(events)), AddressOrder::kWsl);
}

TEST(AddressOrder, chunks_from_the_top_down_are_native_linuxs) {
  std::vector<Event> events;
  std::uint64_t at = 0x7f0000000000;
  for (int i = 0; i < 4; ++i) {
    events.push_back(event(TraceAction::kSegmentAlloc, 20 * kPlacedMib, at));
    at -= 32 * kPlacedMib;
  }
  EXPECT_EQ(find_address_order(with(events)), AddressOrder::kLinux);
}

TEST(AddressOrder, two_small_segments_tell_nothing) {
  EXPECT_EQ(find_address_order(with({event(TraceAction::kSegmentAlloc, 2 * kPlacedMib, 0x502000000)})),
            AddressOrder::kUnknown);
}

}  // namespace
}  // namespace vramfit::compare
