#include "virtual_gpu/device/written.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace vramfit::device {
namespace {

using Spans = std::vector<Span>;
constexpr Span kEverything{0, 1000};

TEST(WrittenBytes, touching_spans_become_one) {
  WrittenBytes written;
  written.add({10, 20});
  written.add({20, 30});
  written.add({5, 12});
  EXPECT_EQ(written.inside(kEverything), (Spans{{5, 30}}));
}

TEST(WrittenBytes, removing_the_middle_leaves_two) {
  WrittenBytes written;
  written.add({10, 30});
  EXPECT_EQ(written.remove({15, 20}), (Spans{{15, 20}}));
  EXPECT_EQ(written.inside(kEverything), (Spans{{10, 15}, {20, 30}}));
}

TEST(WrittenBytes, inside_cuts_at_both_ends) {
  WrittenBytes written;
  written.add({10, 30});
  EXPECT_EQ(written.inside({0, 10}), Spans{});
  EXPECT_EQ(written.inside({29, 40}), (Spans{{29, 30}}));
}

TEST(WrittenBytes, agrees_with_a_set_of_bytes) {
  std::mt19937 random(7);
  WrittenBytes written;
  std::set<uintptr_t> bytes;
  for (int round = 0; round < 2000; ++round) {
    const uintptr_t begin = random() % 200;
    const Span span{begin, begin + random() % 20};
    const bool is_add = random() % 2 == 0;
    if (is_add) written.add(span);
    if (!is_add) written.remove(span);
    for (uintptr_t at = span.begin; at < span.end; ++at) is_add ? void(bytes.insert(at)) : void(bytes.erase(at));
    std::set<uintptr_t> seen;
    for (const Span& one : written.inside(kEverything)) {
      for (uintptr_t at = one.begin; at < one.end; ++at) seen.insert(at);
    }
    ASSERT_EQ(seen, bytes) << "round " << round;
  }
}

}  // namespace
}  // namespace vramfit::device
