#include "compare/totals.h"

#include <gtest/gtest.h>

#include "compare/testing/streams.h"

namespace vramfit::compare {
namespace {

//   live      100  300  200  350        reserved  2M ......... 4M
TEST(Totals, peak_and_end_of_each_figure) {
  EventStream stream = stream_of({"S2097152", "+100", "+200", "-100", "S2097152", "+150"});
  stream.begin = {0, 0, 0};
  const Course course = count_totals(stream, 0, stream.events.size());
  EXPECT_EQ(course.end, (Totals{350, 4194304, 2}));
  EXPECT_EQ(count_totals(stream, 0, 4).peak, (Totals{300, 2097152, 1}));
}

TEST(Totals, what_came_before_counts_but_not_for_the_peak) {
  EventStream stream = stream_of({"+1000", "-1000", "+5"});
  stream.begin = {7, std::nullopt, std::nullopt};
  const Course course = count_totals(stream, 2, 3);
  EXPECT_EQ(course.end.live, 12);
  EXPECT_EQ(course.peak.live, 12);
  EXPECT_FALSE(course.end.reserved);
}

TEST(Totals, reserved_is_taken_from_formats_that_tell_it) {
  EventStream stream = stream_of({"+5", "+6", "-5"});
  stream.reserved_after = {10, 30, 20};
  const Course course = count_totals(stream, 0, 3);
  EXPECT_EQ(course.end.reserved, 20);
  EXPECT_EQ(course.peak.reserved, 30);
}

}  // namespace
}  // namespace vramfit::compare
