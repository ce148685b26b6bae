// A checker that never complains checks nothing: each is shown something wrong.
#include <gtest/gtest.h>

#include "model/recording.h"
#include "verify/fit.h"
#include "verify/forecast.h"
#include "verify/peaks.h"
#include "verify/placement.h"

namespace vramfit::verify {
namespace {

using base::Bytes;

vf_record record_of(vf_record_kind kind, std::uint64_t address, std::int64_t size, std::int64_t at_ns) {
  vf_record record{};
  record.kind = static_cast<decltype(record.kind)>(kind);
  record.address = address;
  record.size = size;
  record.at_ns = at_ns;
  return record;
}

model::Recording recording_of(const std::vector<vf_record>& records) {
  model::Recording recording;
  recording.records = records;
  return recording;
}

TEST(CountPeaks, adds_what_lives_over_processes_in_the_order_of_time) {
  const std::vector<vf_record> first = {record_of(VF_RECORD_SEGMENT_ALLOC, 1, 100, 1),
                                        record_of(VF_RECORD_BLOCK_ALLOC, 1, 60, 2),
                                        record_of(VF_RECORD_BLOCK_FREE, 1, 60, 5)};
  const std::vector<vf_record> second = {record_of(VF_RECORD_SEGMENT_ALLOC, 1, 200, 3),
                                         record_of(VF_RECORD_BLOCK_ALLOC, 1, 30, 4),
                                         record_of(VF_RECORD_BLOCK_ALLOC, 2, 50, 7)};
  const std::vector recordings = {recording_of(first), recording_of(second)};
  EXPECT_EQ(count_peaks(recordings).at(0), (CountedPeaks{Bytes(90), Bytes(300)})) << "60 + 30, then 30 + 50 alone";
}

TEST(CheckPeaks, tells_a_peak_that_is_not_what_was_counted) {
  const std::vector<vf_record> records = {record_of(VF_RECORD_SEGMENT_ALLOC, 1, 100, 1),
                                          record_of(VF_RECORD_BLOCK_ALLOC, 1, 60, 2)};
  const std::vector recordings = {recording_of(records)};
  model::RunResult result;
  result.devices.emplace_back().peaks = {Bytes(60), Bytes(100), Bytes(100)};
  EXPECT_TRUE(check_peaks(recordings, result).empty());
  result.devices[0].peaks.allocated = Bytes(61);
  ASSERT_EQ(check_peaks(recordings, result).size(), 1u);
  EXPECT_EQ(check_peaks(recordings, result)[0], "card 0: 61 bytes allocated at the peak are told, 60 counted");
  result.devices.clear();
  ASSERT_EQ(check_peaks(recordings, result).size(), 1u) << "a card that the recordings have and the answer has not";
}

TEST(CheckPlacement, finds_overlaps_and_blocks_outside_of_segments) {
  const std::vector<Placed> segments = {{0, 100, 0, 10}, {100, 100, 0, 10}};
  EXPECT_TRUE(check_placement(std::vector<Placed>{{0, 60, 1, 5}, {0, 60, 5, 9}, {60, 140, 2, 9}}, segments).empty());
  EXPECT_EQ(check_placement(std::vector<Placed>{{0, 60, 1, 5}, {59, 10, 4, 9}}, segments).size(), 1u);
  EXPECT_EQ(check_placement(std::vector<Placed>{{190, 20, 1, 5}}, segments).size(), 1u) << "over the end";
  EXPECT_EQ(check_placement(std::vector<Placed>{{0, 20, 1, 11}}, segments).size(), 1u) << "outlives its segment";
  EXPECT_EQ(check_placement({}, std::vector<Placed>{{0, 100, 0, 10}, {50, 100, 9, 12}}).size(), 1u);
}

// A step of two modules: weights 100, a holds 60 and returns 40, b holds 50 and returns 20; backward makes gradients of
// 30 and 40 as it lets b's go, then a's. What a library makes for itself in a's forward stays.
class Step {
 public:
  explicit Step(std::int64_t workspace = 0) {
    recording_.strings = {"a", "b"};
    stage_ = VF_STAGE_OTHER;
    add(1, 100, VF_OWNER_WEIGHT);
    stage_ = VF_STAGE_FORWARD;
    scope_ = 1;
    add(2, 60, VF_OWNER_ACTIVATION);
    add(3, 40, VF_OWNER_ACTIVATION);
    if (workspace > 0) push(VF_RECORD_BLOCK_ALLOC, 8, workspace);
    scope_ = 2;
    add(4, 50, VF_OWNER_ACTIVATION);
    add(5, 20, VF_OWNER_ACTIVATION);
    stage_ = VF_STAGE_BACKWARD;
    scope_ = 0;
    add(6, 30, VF_OWNER_GRADIENT);
    for (const std::uint64_t address : {5, 4}) free(address);
    add(7, 40, VF_OWNER_GRADIENT);
    for (const std::uint64_t address : {3, 2}) free(address);
    recording_.records = records_;
  }
  Step(const Step&) = delete;

  CountedForecast count(std::vector<model::Change> changes) const {
    return count_forecast(std::span(&recording_, 1), 0, {"a plan", std::move(changes)});
  }

 private:
  void push(vf_record_kind kind, std::uint64_t address, std::int64_t mib, std::int64_t a = 0) {
    vf_record record = record_of(kind, address, mib << 20, 0);
    record.phase = VF_PHASE_TRAIN;
    record.stage = stage_;
    record.scope = scope_;
    record.a = a;
    records_.push_back(record);
  }
  void add(std::uint64_t address, std::int64_t mib, vf_owner owner) {
    push(VF_RECORD_BLOCK_ALLOC, address, mib);
    push(VF_RECORD_TAG, address, 0, owner);
  }
  void free(std::uint64_t address) { push(VF_RECORD_BLOCK_FREE, address, 0); }

  std::vector<vf_record> records_;
  model::Recording recording_;
  std::uint8_t stage_ = 0;
  std::uint32_t scope_ = 0;
};

TEST(CountForecast, adds_up_what_lives_at_each_birth) {
  const Step step;
  EXPECT_EQ(step.count({}).allocated, Bytes::mib(300)) << "all but the second gradient";
  EXPECT_EQ(step.count({}).phases.at("train"), Bytes::mib(300));
  EXPECT_EQ(step.count({{"release_gradients", {}}}).allocated, Bytes::mib(300)) << "the first is made in any case";
}

TEST(CountForecast, smaller_batches_hold_less_and_keep_gradients) {
  const model::Change halves{"micro_batch", {{"micro_batch", std::int64_t{1}}, {"accumulate", std::int64_t{2}}}};
  EXPECT_EQ(Step().count({halves}).allocated, Bytes::mib(100 + 85 + 70 + 30))
      << "halves of all that is saved, both gradients of the first, and the second's own as it is made";
}

TEST(CountForecast, a_network_in_parts_returns_all_of_it) {
  const model::Change halves{"split_forward", {{"parts", std::int64_t{2}}}};
  EXPECT_EQ(Step().count({halves}).allocated, Bytes::mib(100 + 75 + 20 + 70 + 30))
      << "halves of what is saved, all of what b returns, both gradients of the first part, and the second's own";
  EXPECT_EQ(Step(16).count({halves}).allocated, Bytes::mib(16 + 100 + 75 + 20 + 70 + 30)) << "a workspace is whole";
}

TEST(CountForecast, a_module_that_runs_again_holds_nothing_meanwhile) {
  const model::Change a{"checkpoint", {{"modules", std::vector<std::string>{"a"}}}};
  EXPECT_EQ(Step().count({a}).allocated, Bytes::mib(270)) << "its 60 are back once b is gone, with 70 of gradients";
  const model::Change both{"checkpoint", {{"modules", std::vector<std::string>{"a", "b"}}}};
  EXPECT_EQ(Step().count({both}).allocated, Bytes::mib(270));
}

TEST(CountForecast, state_in_host_memory_is_there_in_steps_alone_and_a_turn_of_it) {
  std::vector<vf_record> records;
  const auto push = [&](std::uint64_t address, std::int64_t mib, vf_owner owner, vf_stage stage) {
    for (const vf_record_kind kind : {VF_RECORD_BLOCK_ALLOC, VF_RECORD_TAG}) {
      vf_record record = record_of(kind, address, mib << 20, 0);
      record.stage = static_cast<decltype(record.stage)>(stage);
      record.phase = VF_PHASE_TRAIN;
      record.a = owner;
      records.push_back(record);
    }
  };
  const auto free = [&](std::uint64_t address) { records.push_back(record_of(VF_RECORD_BLOCK_FREE, address, 0, 0)); };
  const auto pass = [&](std::uint64_t at) {
    push(at, 60, VF_OWNER_ACTIVATION, VF_STAGE_FORWARD);
    push(at + 1, 64, VF_OWNER_GRADIENT, VF_STAGE_BACKWARD);
    push(at + 2, 192, VF_OWNER_GRADIENT, VF_STAGE_BACKWARD);
    free(at);
  };
  push(1, 256, VF_OWNER_WEIGHT, VF_STAGE_OTHER);
  pass(10);
  push(20, 512, VF_OWNER_OPTIMIZER, VF_STAGE_OPTIMIZER);  // twice the weights, as Adam's
  push(21, 40, VF_OWNER_UNKNOWN, VF_STAGE_OPTIMIZER);
  for (const std::uint64_t address : {21, 11, 12}) free(address);
  pass(30);
  const model::Recording recording = recording_of(records);
  const auto count = [&](std::vector<model::Change> changes) {
    return count_forecast(std::span(&recording, 1), 0, {"a plan", std::move(changes)});
  };
  EXPECT_EQ(count({}).allocated, Bytes::mib(256 + 512 + 60 + 256)) << "the second pass";
  const model::Change waits{"offload_optimizer", {}};
  EXPECT_EQ(count({waits}).allocated, Bytes::mib(256 + 256 + 384 + 30))
      << "the step: three quarters of the state and of what it works in, the largest tensor's";
  EXPECT_EQ(count({waits, {"release_gradients", {}}}).why_not, "offload_optimizer with steps in backward");
}

TEST(CountForecast, what_it_does_not_know_is_not_counted) {
  EXPECT_EQ(Step().count({{"offload_activations", {}}}).why_not, "offload_activations");
  EXPECT_EQ(count_forecast({}, 0, {}).why_not, "nothing was recorded of the card");
  const model::Change nested{"checkpoint", {{"modules", std::vector<std::string>{"a", "a.b"}}}};
  EXPECT_EQ(Step().count({nested}).why_not, "checkpoints within checkpoints");
}

TEST(CheckForecast, tells_a_forecast_that_is_not_what_was_counted) {
  const CountedForecast counted = Step().count({});
  const ToldForecast right{Bytes::mib(300), Bytes::mib(310), Bytes::mib(320), {{"train", Bytes::mib(310)}}};
  EXPECT_TRUE(check_forecast(counted, right).empty());
  ToldForecast wrong = right;
  wrong.allocated = Bytes::mib(280);
  EXPECT_EQ(check_forecast(counted, wrong).size(), 2u) << "the whole and the phase";
  wrong = right;
  wrong.phases["train"] = Bytes::mib(200);
  EXPECT_EQ(check_forecast(counted, wrong).size(), 1u);
  wrong = right;
  wrong.phases["validate"] = Bytes::mib(310);
  EXPECT_EQ(check_forecast(counted, wrong).size(), 1u) << "a phase that nothing was recorded of";
  wrong = right;
  wrong.uses = Bytes::mib(305);
  EXPECT_EQ(check_forecast(counted, wrong).size(), 1u) << "less than it needs";
  wrong = right;
  wrong.needs = wrong.phases["train"] = Bytes::mib(290);
  EXPECT_EQ(check_forecast(counted, wrong).size(), 1u) << "less than it allocates";
}

model::FitResult found() {
  model::FitResult result;
  result.verdict = model::FitVerdict::kPlanFits;
  result.as_is.verdict = model::Verdict::kOutOfMemory;
  result.limit = Bytes(1000);
  result.techniques = {{"autocast", "applicable", ""}, {"resize_input", "denied", "--deny"}};
  model::PlanRow row;
  row.plan = {"bf16", {{"autocast", {}}}};
  row.standing = model::PlanStanding::kFits;
  row.proven = model::Peaks{Bytes(700), Bytes(800), Bytes(900)};
  result.plans = {row};
  return result;
}

TEST(CheckFit, finds_what_does_not_agree) {
  EXPECT_TRUE(check_fit(found()).empty());
  auto result = found();
  result.plans[0].proven->device = Bytes(1001);
  EXPECT_EQ(check_fit(result).size(), 1u) << "larger than the card";
  result = found();
  result.plans[0].proven.reset();
  EXPECT_EQ(check_fit(result).size(), 1u) << "nobody ran it";
  result = found();
  result.plans[0].plan.changes.push_back({"resize_input", {}});
  EXPECT_EQ(check_fit(result).size(), 1u) << "denied";
  result = found();
  result.plans.clear();
  EXPECT_EQ(check_fit(result).size(), 1u) << "a verdict without a plan";
  result = found();
  result.as_is.verdict = model::Verdict::kFits;
  EXPECT_EQ(check_fit(result).size(), 1u);
  result = found();
  result.lost.push_back(result.plans[0]);
  EXPECT_EQ(check_fit(result).size(), 1u) << "lost without a reason";
}

}  // namespace
}  // namespace vramfit::verify
