#include "compare/workspaces.h"

#include <gtest/gtest.h>

#include "compare/testing/streams.h"

namespace vramfit::compare {
namespace {

using model::LayerWorkspace;

const Marks kMarks{{512, "first"}, {1024, "second"}, {1536, ""}};

LayerWorkspace layer(std::string name, std::int64_t taken, std::int64_t largest) {
  return {std::move(name), base::Bytes(taken), base::Bytes(largest)};
}

TEST(Workspaces, are_read_between_what_both_have) {
  const auto reading = read_workspaces(stream_of({"+10", "+4096", "-4096", "+20", "+30", "-30"}),
                                       stream_of({"+10", "+512", "-512", "+20", "+1024", "+30", "-30"}), kMarks);
  EXPECT_EQ(reading.layers, (std::vector{layer("first", 4096, 4096), layer("second", 0, 0)}));
  EXPECT_EQ(reading.unclear, 0u);
}

TEST(Workspaces, of_benchmark_mode_are_its_largest_and_its_last) {
  const auto two =
      read_workspaces(stream_of({"+10", "+900", "+300", "+20"}), stream_of({"+10", "+512", "+512", "+20"}), kMarks);
  EXPECT_EQ(two.layers, std::vector{layer("first", 300, 900)});
  const auto none_in_the_end =
      read_workspaces(stream_of({"+10", "+900", "+20"}), stream_of({"+10", "+512", "+512", "+20"}), kMarks);
  EXPECT_EQ(none_in_the_end.layers, std::vector{layer("first", 0, 900)});
  const auto later_alone = read_workspaces(stream_of({"+10", "+900", "+300", "+20", "+300", "+30"}),
                                           stream_of({"+10", "+512", "+512", "+20", "+512", "+30"}), kMarks);
  EXPECT_EQ(later_alone.layers, std::vector{layer("first", 300, 900)});
}

TEST(Workspaces, are_not_read_where_more_than_they_differs) {
  const auto more_here =
      read_workspaces(stream_of({"+10", "+4096", "+20"}), stream_of({"+10", "+512", "+77", "+20"}), kMarks);
  EXPECT_TRUE(more_here.layers.empty());
  EXPECT_EQ(more_here.unclear, 1u);
  const auto two_of_which =
      read_workspaces(stream_of({"+10", "+4096", "+20"}), stream_of({"+10", "+512", "+1024", "+20"}), kMarks);
  EXPECT_TRUE(two_of_which.layers.empty());
  EXPECT_EQ(two_of_which.unclear, 2u);
}

TEST(Workspaces, that_share_a_mark_are_not_read) {
  const auto reading = read_workspaces(stream_of({"+10", "+4096", "+20"}), stream_of({"+10", "+1536", "+20"}), kMarks);
  EXPECT_TRUE(reading.layers.empty());
}

TEST(Workspaces, before_a_late_recording_and_after_it_are_not_nothing) {
  const auto reading = read_workspaces(stream_of({"+20", "+4096", "+30"}),
                                       stream_of({"+10", "+1024", "+20", "+512", "+30", "+1024"}), kMarks);
  EXPECT_EQ(reading.layers, std::vector{layer("first", 4096, 4096)});
}

TEST(Workspaces, are_what_functions_for_workspaces_ask_for_where_stacks_tell_them) {
  EventStream recorded = stream_of({"+10", "+4096", "+20"}), marked = stream_of({"+10", "+512", "+20"});
  recorded.callers.push_back({"", "", true});
  EXPECT_TRUE(read_workspaces(recorded, marked, kMarks).layers.empty());  // another function asked for the 4096
  recorded.events[1].caller = 1;
  EXPECT_EQ(read_workspaces(recorded, marked, kMarks).layers, std::vector{layer("first", 4096, 4096)});
}

}  // namespace
}  // namespace vramfit::compare
