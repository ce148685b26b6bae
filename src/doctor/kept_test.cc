#include "doctor/kept.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace vramfit::doctor {
namespace {

constexpr std::int64_t kMib = 1 << 20;

// One line of a script, block after block.
struct Line {
  std::vector<LiveBlock> live;
  SiteHistory history;
  TraceSpan span;

  void alloc(std::int64_t size) {
    history.changes.push_back({span.length, size});
    live.push_back({span.length++, size});
  }
  void free(std::size_t index) {
    const LiveBlock block = live[index];
    live.erase(live.begin() + static_cast<std::ptrdiff_t>(index));
    ++history.freed;
    ++history.freed_by_size[block.size];
    history.changes.push_back({span.length++, -block.size});
  }
  void free_older(std::int64_t size) { span.freed_older.push_back({span.length++, -size}); }
  void step(int temporary, std::int64_t size) {
    for (int i = 0; i < temporary; ++i) alloc(size);
    for (int i = 0; i < temporary; ++i) free(live.size() - 1);
    ++span.steps;
  }
  Kept kept() const { return find_kept(live, history, span); }
};

TEST(Kept, what_stays_of_a_line_that_also_makes_what_is_freed_of_the_same_size) {
  Line line;
  for (int i = 0; i < 40; ++i) {
    line.alloc(2 * kMib);
    line.step(3, 2 * kMib);
  }
  const Kept kept = line.kept();
  EXPECT_GE(kept.births.size(), 38u);
  EXPECT_TRUE(kept.rises);
}

TEST(Kept, not_the_step_that_was_under_way) {
  Line line;
  for (int i = 0; i < 40; ++i) {
    line.alloc(2 * kMib);
    line.step(3, 2 * kMib);
  }
  for (int i = 0; i < 5; ++i) line.alloc(2 * kMib);
  EXPECT_LE(line.kept().births.size(), 41u);
}

TEST(Kept, every_other_size_too) {
  Line line;
  for (int i = 0; i < 60; ++i) {
    const std::int64_t size = (1 + i * 7 % 5) * kMib;
    line.alloc(size);
    line.step(2, size);
  }
  EXPECT_GE(line.kept().births.size(), 56u);
}

TEST(Kept, nothing_of_a_queue_of_a_fixed_length) {
  Line line;
  for (int i = 0; i < 60; ++i) {
    line.alloc(kMib);
    line.step(1, kMib);
    if (i >= 10) line.free(0);
  }
  EXPECT_TRUE(line.kept().births.empty());
}

TEST(Kept, nothing_of_a_queue_that_was_full_before_the_trace_began) {
  Line line;
  for (int i = 0; i < 30; ++i) {
    line.alloc(kMib);
    line.step(1, kMib);
    line.free_older(kMib);
  }
  EXPECT_TRUE(line.kept().births.empty());
}

}  // namespace
}  // namespace vramfit::doctor
