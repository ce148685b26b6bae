#include "virtual_gpu/device/value_states.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace vramfit::device {
namespace {

using enum ValueState;

TEST(ValueStates, what_lies_in_no_span_is_unknown) {
  ValueStates states;
  EXPECT_EQ(states.least({100, 108}), kUnknown);
  EXPECT_EQ(states.least({100, 100}), kKnown) << "nothing is not known of no bytes";
  states.set({100, 108}, kKnown);
  EXPECT_EQ(states.least({100, 108}), kKnown);
  EXPECT_EQ(states.least({100, 109}), kUnknown);
  EXPECT_EQ(states.least({99, 108}), kUnknown);
}

TEST(ValueStates, several_are_known_as_the_least_known) {
  ValueStates states;
  states.set({0, 8}, kKnown);
  states.set({8, 16}, kAssumed);
  EXPECT_EQ(states.least({0, 16}), kAssumed);
  states.set({4, 6}, kOpen);
  EXPECT_EQ(states.least({0, 16}), kOpen);
  EXPECT_EQ(states.least({6, 16}), kAssumed);
  states.set({5, 6}, kUnknown);
  EXPECT_EQ(states.least({4, 8}), kUnknown);
}

// Against one state for every byte.
TEST(ValueStates, agree_with_a_plain_array) {
  constexpr std::size_t kBytes = 64;
  std::mt19937 random(1);
  ValueStates states;
  std::array<ValueState, kBytes> plain{};
  for (int step = 0; step < 20000; ++step) {
    std::size_t begin = random() % kBytes, end = random() % (kBytes + 1);
    if (begin > end) std::swap(begin, end);
    const auto state = static_cast<ValueState>(random() % 4);
    const std::size_t to = random() % (kBytes - (end - begin) + 1);
    if (step % 5 == 0) {
      states.copy(1000 + to, {1000 + begin, 1000 + end});
      const auto from = plain;
      std::copy(from.begin() + begin, from.begin() + end, plain.begin() + to);
    } else {
      states.set({1000 + begin, 1000 + end}, state);
      std::fill(plain.begin() + begin, plain.begin() + end, state);
    }
    const std::size_t first = random() % kBytes, last = first + 1 + random() % (kBytes - first);
    const auto least = *std::min_element(plain.begin() + first, plain.begin() + last);
    ASSERT_EQ(states.least({1000 + first, 1000 + last}), least) << "step " << step;
  }
}

}  // namespace
}  // namespace vramfit::device
