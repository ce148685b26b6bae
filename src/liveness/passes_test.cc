#include "liveness/passes.h"

#include <gtest/gtest.h>

#include <string>

#include "liveness/testing/recording_builder.h"
#include "model/recording.h"

namespace vramfit::liveness {
namespace {

using testing::RecordingBuilder;

constexpr std::int64_t kOneMib = 1 << 20;

std::uint64_t address(int number) { return 0x1000u + static_cast<std::uint64_t>(number) * 0x1000'0000u; }

// What `work` records, in a process that takes no step.
template <class Work>
std::vector<model::Growth> passes_in(Work work) {
  RecordingBuilder builder;
  builder.phase = VF_PHASE_LOAD;
  builder.segment(1, 1000 * kOneMib);
  work(builder);
  const std::vector<model::Recording> recordings{builder.build()};
  return find_growth_of_passes(build_histories(recordings).at(0), recordings);
}

TEST(Passes, a_line_alone_in_its_loop_is_a_pass_a_block) {
  const auto found = passes_in([](RecordingBuilder& builder) {
    for (int i = 1; i <= 40; ++i) builder.alloc(address(i), kOneMib, "", "loop.py:4 in work");
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].unit, "pass");
  EXPECT_EQ(found[0].per_step, Bytes::mib(1));
  EXPECT_EQ(found[0].first_step, 1);
  EXPECT_EQ(found[0].levels.size(), 40u);
  EXPECT_EQ(found[0].lines.at(0).line, "loop.py:4 in work");
}

// One line of the script calls the model, and each of its layers keeps what the backward pass needs.
TEST(Passes, layers_of_one_forward_pass_are_no_loop) {
  const auto found = passes_in([](RecordingBuilder& builder) {
    for (int i = 1; i <= 40; ++i)
      builder.alloc(address(i), kOneMib, "layers." + std::to_string(i), "train.py:8 in main");
    for (int i = 41; i <= 80; ++i) builder.alloc(address(i), kOneMib, "cell", "train.py:9 in main");
  });
  EXPECT_TRUE(found.empty());
}

TEST(Passes, blocks_of_two_sizes_that_come_again_are_one_pass) {
  const auto found = passes_in([](RecordingBuilder& builder) {
    for (int i = 1; i <= 80; ++i)
      builder.alloc(address(i), i % 2 == 0 ? kOneMib : 3 * kOneMib, "", "loop.py:4 in work");
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].per_step, Bytes::mib(4));
}

TEST(Passes, lines_of_one_loop_are_added_and_a_variable_that_is_overwritten_is_none) {
  const auto found = passes_in([](RecordingBuilder& builder) {
    for (int i = 1; i <= 40; ++i) {
      builder.alloc(address(1000 + i), 8 * kOneMib, "", "loop.py:3 in work");
      if (i > 1) builder.free(address(1000 + i - 1));
      builder.alloc(address(i), kOneMib, "", "loop.py:4 in work")
          .alloc(address(100 + i), 2 * kOneMib, "", "loop.py:5 in work");
    }
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].per_step, Bytes::mib(3));
  EXPECT_EQ(found[0].lines.size(), 2u);
}

TEST(Passes, what_gets_longer_grows_though_each_goes_when_the_next_one_comes) {
  const auto found = passes_in([](RecordingBuilder& builder) {
    for (int i = 1; i <= 40; ++i) {
      builder.alloc(address(1000), kOneMib, "", "loop.py:3 in work").free(address(1000));
      builder.alloc(address(i), i * kOneMib, "", "loop.py:4 in work");
      if (i > 1) builder.free(address(i - 1));
    }
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].lines.at(0).line, "loop.py:4 in work");
  EXPECT_EQ(found[0].per_step, Bytes::mib(1));
}

TEST(Passes, what_a_loop_made_and_others_use_for_long_is_none) {
  const auto found = passes_in([](RecordingBuilder& builder) {
    for (int i = 1; i <= 40; ++i) builder.alloc(address(i), kOneMib, "", "loop.py:4 in work");
    for (int i = 1; i <= 40; ++i) builder.alloc(address(1000), kOneMib, "", "loop.py:9 in work").free(address(1000));
  });
  EXPECT_TRUE(found.empty());
}

TEST(Passes, a_window_is_none) {
  const auto found = passes_in([](RecordingBuilder& builder) {
    for (int i = 1; i <= 60; ++i) {
      builder.alloc(address(i), kOneMib, "", "loop.py:4 in work");
      if (i > 10) builder.free(address(i - 10));
    }
  });
  EXPECT_TRUE(found.empty());
}

TEST(Passes, a_process_that_takes_steps_is_judged_by_them) {
  const auto found = passes_in([](RecordingBuilder& builder) {
    for (int i = 1; i <= 40; ++i) builder.alloc(address(i), kOneMib, "", "loop.py:4 in work");
    builder.emit(VF_RECORD_STEP, 0, 1);
  });
  EXPECT_TRUE(found.empty());
}

}  // namespace
}  // namespace vramfit::liveness
