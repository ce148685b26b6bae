#include "doctor/at_failure.h"

#include <gtest/gtest.h>

#include "doctor/snapshot_facts.h"

namespace vramfit::doctor {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::uint64_t kBase = 0x10000000;

model::TraceEntry event(model::TraceAction action, std::uint64_t at, std::int64_t size) {
  model::TraceEntry entry;
  entry.action = action;
  entry.addr = at;
  entry.size = size;
  return entry;
}

//   at the failure  [ 40 MiB live ][ 20 idle ]      at the dump  [ 60 MiB idle ]
model::Snapshot freed_after_the_failure() {
  model::Snapshot snapshot;
  model::Segment segment;
  segment.address = kBase;
  segment.total_size = 60 * kMiB;
  segment.is_large = true;
  model::Block block;
  block.address = kBase;
  block.size = 60 * kMiB;
  segment.blocks = {block};
  snapshot.segments = {segment};
  snapshot.traces = {{event(model::TraceAction::kSegmentAlloc, kBase, 60 * kMiB),
                      event(model::TraceAction::kAlloc, kBase, 40 * kMiB),
                      event(model::TraceAction::kOom, 1 * kMiB, 50 * kMiB),
                      event(model::TraceAction::kFreeRequested, kBase, 40 * kMiB),
                      event(model::TraceAction::kFreeCompleted, kBase, 40 * kMiB)}};
  return snapshot;
}

TEST(AtFailure, what_was_freed_after_it_was_not_idle_then) {
  const model::Snapshot snapshot = freed_after_the_failure();
  ASSERT_EQ(last_failure(snapshot, 0), 2u);
  const SnapshotFacts facts = find_facts("snap.pickle", snapshot);
  EXPECT_EQ(facts.active, Bytes(40 * kMiB));
  EXPECT_EQ(facts.idle, Bytes(20 * kMiB));
  EXPECT_EQ(facts.largest_idle, Bytes(20 * kMiB));
  EXPECT_EQ(facts.failed_size, Bytes(50 * kMiB));
}

TEST(AtFailure, without_one_the_snapshot_is_as_it_was_dumped) {
  model::Snapshot snapshot = freed_after_the_failure();
  std::erase_if(snapshot.traces[0], [](const auto& entry) { return entry.action == model::TraceAction::kOom; });
  EXPECT_FALSE(last_failure(snapshot, 0));
  EXPECT_EQ(find_facts("snap.pickle", snapshot).idle, Bytes(60 * kMiB));
}

}  // namespace
}  // namespace vramfit::doctor
