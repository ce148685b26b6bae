// A checker that never complains checks nothing: each is shown something wrong.
#include <gtest/gtest.h>

#include "model/recording.h"
#include "verify/fit.h"
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
}

TEST(CheckPlacement, finds_overlaps_and_blocks_outside_of_segments) {
  const std::vector<Placed> segments = {{0, 100, 0, 10}, {100, 100, 0, 10}};
  EXPECT_TRUE(check_placement(std::vector<Placed>{{0, 60, 1, 5}, {0, 60, 5, 9}, {60, 140, 2, 9}}, segments).empty());
  EXPECT_EQ(check_placement(std::vector<Placed>{{0, 60, 1, 5}, {59, 10, 4, 9}}, segments).size(), 1u);
  EXPECT_EQ(check_placement(std::vector<Placed>{{190, 20, 1, 5}}, segments).size(), 1u) << "over the end";
  EXPECT_EQ(check_placement(std::vector<Placed>{{0, 20, 1, 11}}, segments).size(), 1u) << "outlives its segment";
  EXPECT_EQ(check_placement({}, std::vector<Placed>{{0, 100, 0, 10}, {50, 100, 9, 12}}).size(), 1u);
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
