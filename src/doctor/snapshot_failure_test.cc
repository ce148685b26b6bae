#include <gtest/gtest.h>

#include <string>

#include "doctor/diagnose.h"

namespace vramfit::doctor {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;
constexpr std::uint64_t kSegmentAt = 0x10000000;

// One segment of the blocks that a script made, and a request that failed; idle blocks are those without a line.
class Dumped {
 public:
  Dumped() { snapshot_.segments.emplace_back().address = kSegmentAt; }

  model::StackId stack_at(const std::string& file, int line, const std::string& function) {
    const auto text = [&](const std::string& words) {
      snapshot_.strings.push_back(words);
      return static_cast<model::StringId>(snapshot_.strings.size() - 1);
    };
    model::Frame frame;
    frame.file = text(file);
    frame.function = text(function);
    frame.line = line;
    snapshot_.frames.push_back(frame);
    snapshot_.stack_frames.push_back(static_cast<model::FrameId>(snapshot_.frames.size() - 1));
    snapshot_.stack_starts.push_back(static_cast<std::uint32_t>(snapshot_.stack_frames.size()));
    return static_cast<model::StackId>(snapshot_.stack_starts.size() - 2);
  }

  void block(std::int64_t mib, model::StackId made_at, bool is_live = true) {
    model::Segment& segment = snapshot_.segments.front();
    model::Block block;
    block.address = kSegmentAt + static_cast<std::uint64_t>(segment.total_size);
    block.size = mib * kMebibyte;
    block.stack = made_at;
    block.state = is_live ? model::BlockState::kActiveAllocated : model::BlockState::kInactive;
    segment.total_size += block.size;
    segment.allocated_size += is_live ? block.size : 0;
    segment.blocks.push_back(block);
    if (is_live) event(model::TraceAction::kAlloc, block.address, block.size, made_at);
  }

  void temporary(std::int64_t mib, model::StackId made_at) {
    constexpr std::uint64_t kElsewhere = 0x7000000000;
    event(model::TraceAction::kAlloc, kElsewhere, mib * kMebibyte, made_at);
    event(model::TraceAction::kFreeRequested, kElsewhere, mib * kMebibyte, made_at);
    event(model::TraceAction::kFreeCompleted, kElsewhere, mib * kMebibyte, made_at);
  }

  model::Diagnosis failing(std::int64_t asked_mib, std::int64_t free_mib, model::StackId at) {
    event(model::TraceAction::kOom, static_cast<std::uint64_t>(free_mib * kMebibyte), asked_mib * kMebibyte, at);
    Case given;
    snapshot_.traces = {trace_};
    given.snapshots.push_back({"snap.pickle", snapshot_, std::nullopt});
    return diagnose(given);
  }

 private:
  void event(model::TraceAction action, std::uint64_t address, std::int64_t size, model::StackId stack) {
    model::TraceEntry entry;
    entry.action = action;
    entry.addr = address;
    entry.size = size;
    entry.stack = stack;
    trace_.push_back(entry);
  }

  model::Snapshot snapshot_;
  std::vector<model::TraceEntry> trace_;
};

model::Diagnosis of_request(std::int64_t live_mib, std::int64_t idle_mib, std::int64_t asked_mib,
                            std::int64_t free_mib) {
  Dumped dumped;
  const model::StackId line = dumped.stack_at("train.py", 33, "train_step");
  dumped.block(live_mib, line);
  for (std::int64_t left = idle_mib; left > 0; left -= 18) dumped.block(18, model::StackId::kNone, false);
  return dumped.failing(asked_mib, free_mib, line);
}

double confidence(const model::Diagnosis& diagnosis, const std::string& label) {
  for (const model::Finding& finding : diagnosis.findings) {
    if (finding.label == label) return finding.confidence;
  }
  return 0;
}

TEST(SnapshotFailure, a_request_above_all_that_there_was_is_one_tensor_and_no_full_card) {
  const model::Diagnosis larger = of_request(192, 0, 30 << 10, 24 << 10);
  EXPECT_EQ(larger.findings.front().label, "single_huge_allocation");
  EXPECT_GE(larger.findings.front().confidence, 0.8);
  EXPECT_NE(larger.findings.front().evidence.front().reasoning.find("train.py:33 in train_step"), std::string::npos);
  EXPECT_EQ(of_request(6400, 0, 20 << 10, 18 << 10).findings.front().label, "single_huge_allocation");
  EXPECT_EQ(of_request(192, 0, 1 << 20, 24 << 10).findings.front().label, "single_huge_allocation");
  EXPECT_EQ(of_request(192, 0, 4 << 20, 24 << 10).findings.front().label, "size_computation_bug");
  EXPECT_EQ(of_request(23 << 10, 0, 2 << 10, 800).findings.front().label, "capacity_exceeded");
}

TEST(SnapshotFailure, one_tensor_is_not_sure_where_others_may_hold_the_card) {
  const model::Diagnosis small = of_request(100, 0, 1 << 10, 300);
  EXPECT_LT(confidence(small, "single_huge_allocation"), 0.6);
  EXPECT_FALSE(small.give.empty());
}

TEST(SnapshotFailure, a_full_card_is_told_with_the_lines_that_fill_it) {
  Dumped dumped;
  const model::StackId of_torch = dumped.stack_at("/usr/lib/python3/site-packages/torch/nn/modules/linear.py", 9, "f");
  const model::StackId model = dumped.stack_at("model.py", 12, "build"), step = dumped.stack_at("train.py", 33, "step");
  dumped.block(5000, of_torch);
  dumped.block(2000, model);
  for (int i = 0; i < 4; ++i) dumped.block(4000, step);
  const model::Finding finding = dumped.failing(2048, 500, step).findings.front();
  EXPECT_EQ(finding.label, "capacity_exceeded");
  EXPECT_TRUE(finding.title.ends_with("70% of them made at train.py:33 in step")) << finding.title;
  ASSERT_EQ(finding.evidence.size(), 4u);
  EXPECT_EQ(finding.evidence[1].reasoning, "15.62 GiB (70% of what is live) in 4 blocks made at train.py:33 in step");
  EXPECT_TRUE(finding.evidence[2].reasoning.ends_with("in 1 block made at model.py:12 in build"));
  EXPECT_TRUE(finding.evidence[3].reasoning.ends_with("made at linear.py:9 in f")) << "packages come last";
}

TEST(SnapshotFailure, a_leak_is_told_with_its_line_its_rate_and_when_the_card_was_full) {
  Dumped dumped;
  const model::StackId step = dumped.stack_at("train.py", 33, "step"), other = dumped.stack_at("train.py", 30, "step");
  for (int i = 0; i < 100; ++i) {
    dumped.temporary(30, other);
    dumped.block(40, step);
  }
  const model::Finding finding = dumped.failing(40, 30, step).findings.front();
  EXPECT_EQ(finding.label, "leak_growth");
  EXPECT_EQ(finding.title,
            "Memory grows from step to step, by about 40 MiB a step: made at train.py:33 in step; the card was full "
            "after about 100 steps");
}

TEST(SnapshotFailure, holes_are_not_blamed_where_without_them_it_fails_as_well) {
  EXPECT_EQ(confidence(of_request(50, 36, 1 << 20, 24 << 10), "fragmentation"), 0);
  EXPECT_GT(confidence(of_request(50, 36, 40, 10), "fragmentation"), 0.4);
}

}  // namespace
}  // namespace vramfit::doctor
