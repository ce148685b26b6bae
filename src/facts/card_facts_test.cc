#include "facts/card_facts.h"

#include <gtest/gtest.h>
#include <vramfit/ledger.h>

#include <memory>

#include "facts/explanation.h"
#include "facts/recordings.h"
#include "liveness/testing/recording_builder.h"

namespace vramfit::facts {
namespace {

using base::Bytes;
using liveness::testing::RecordingBuilder;

constexpr std::int64_t kOneMib = 1 << 20;

std::unique_ptr<vf_ledger> machine_of(std::uint32_t cards) {
  auto ledger = std::make_unique<vf_ledger>();
  ledger->card_count = cards;
  for (vf_card_use& use : ledger->use) use.smallest_free_bytes_at_refusal = -1;
  return ledger;
}

// A segment of 100 MiB of which 60 are used, after a moment at which 80 were.
model::Recording job_on_card(std::uint8_t device) {
  RecordingBuilder builder;
  builder.device = device;
  builder.context(300 * kOneMib).segment(1 << 30, 100 * kOneMib);
  builder.alloc(1 << 30, 60 * kOneMib, "net", "train.py:9 in step")
      .alloc((1 << 30) + 60 * kOneMib, 20 * kOneMib)
      .free((1 << 30) + 60 * kOneMib);
  return builder.build();
}

TEST(CardFacts, of_a_virtual_machine_tell_all_of_its_cards) {
  const auto ledger = machine_of(3);
  ledger->use[2].peak_used_bytes = 5 * kOneMib;
  const auto facts = gather({job_on_card(1)}, ledger.get());
  ASSERT_EQ(facts->cards.size(), 3u);
  EXPECT_FALSE(facts->cards[0].has_history);
  EXPECT_EQ(facts->cards[0].fullest, liveness::kNever);
  EXPECT_TRUE(facts->cards[1].has_history);
  EXPECT_EQ(facts->cards[1].context, Bytes(300 * kOneMib));
  EXPECT_EQ(facts->cards[1].peaks.allocated, Bytes(80 * kOneMib));
  // What nothing recorded took, as a library's own cudaMalloc in a process without our hooks.
  EXPECT_EQ(facts->cards[2].peaks.device, Bytes(5 * kOneMib));
}

TEST(CardFacts, of_a_real_machine_are_those_that_anything_happened_on) {
  const auto facts = gather({job_on_card(1)});
  ASSERT_EQ(facts->cards.size(), 1u);
  EXPECT_EQ(facts->cards[0].device, 1);
  EXPECT_FALSE(facts->cards[0].accounted);
  EXPECT_EQ(facts->cards[0].peaks.device, Bytes(400 * kOneMib));
}

// 300 MiB of context, 20 MiB of kernels that came later, and 3 GiB of somebody else.
model::Recording job_on_real_card(bool tells_own, const std::string& uuid) {
  RecordingBuilder builder;
  builder.segment(1 << 30, 100 * kOneMib);
  if (tells_own) builder.emit(VF_RECORD_CONTEXT, 300 * kOneMib, 3472 * kOneMib);
  builder.alloc(1 << 30, 60 * kOneMib, "net", "train.py:9 in step");
  builder.emit(VF_RECORD_LIBRARY, tells_own ? 20 * kOneMib : 0, 3492 * kOneMib);
  auto recording = builder.build();
  recording.notes.real_card.push_back({.device = 0,
                                       .name = "NVIDIA H200",
                                       .uuid = uuid,
                                       .driver = "580",
                                       .total_bytes = Bytes(5),
                                       .tells_own = tells_own});
  return recording;
}

Bytes held_by(const RunFacts& facts, const std::string& owner) {
  Bytes sum;
  for (const model::OwnerRow& row : explain(facts, false).owners) sum += row.owner == owner ? row.bytes : Bytes(0);
  return sum;
}

TEST(CardFacts, of_a_real_card_tell_what_is_the_jobs_and_what_is_others) {
  const auto facts = gather({job_on_real_card(true, "GPU-1")});
  const CardFacts& card = facts->cards.at(0);
  ASSERT_EQ(card.real.size(), 1u);
  EXPECT_EQ(card.real[0].name, "NVIDIA H200");
  EXPECT_EQ(card.real[0].total, Bytes(5));
  EXPECT_TRUE(card.tells_own);
  EXPECT_EQ(card.context, Bytes(300 * kOneMib));
  EXPECT_EQ(card.libraries, Bytes(20 * kOneMib));
  EXPECT_EQ(card.others, Bytes(3072 * kOneMib));
  EXPECT_EQ(card.peaks.device, Bytes(3492 * kOneMib));
  EXPECT_EQ(held_by(*facts, "occupied"), card.others);
  EXPECT_EQ(held_by(*facts, "unexplained"), Bytes(0));
}

TEST(CardFacts, of_a_real_card_that_does_not_tell_leave_the_rest_unexplained) {
  const auto facts = gather({job_on_real_card(false, "GPU-1")});
  EXPECT_FALSE(facts->cards.at(0).tells_own);
  EXPECT_EQ(facts->cards[0].others, Bytes(0));
  EXPECT_EQ(held_by(*facts, "occupied"), Bytes(0));
  EXPECT_EQ(held_by(*facts, "unexplained"), Bytes(3392 * kOneMib));
}

TEST(CardFacts, know_each_card_that_processes_have_under_one_number) {
  const auto same = gather({job_on_real_card(true, "GPU-1"), job_on_real_card(true, "GPU-1")});
  EXPECT_EQ(same->cards.at(0).real.size(), 1u);
  const auto different = gather({job_on_real_card(true, "GPU-1"), job_on_real_card(false, "GPU-2")});
  EXPECT_EQ(different->cards.at(0).real.size(), 2u);
  EXPECT_FALSE(different->cards[0].tells_own);
}

TEST(CardFacts, know_what_the_largest_refused_allocation_lacked) {
  const auto ledger = machine_of(1);
  ledger->use[0].refused = 2;
  ledger->use[0].largest_refused_bytes = 50 * kOneMib;
  EXPECT_FALSE(gather({}, ledger.get())->cards[0].accounted->shortfall);  // nobody noted what was free
  ledger->use[0].smallest_free_bytes_at_refusal = 20 * kOneMib;
  EXPECT_EQ(gather({}, ledger.get())->cards[0].accounted->shortfall, Bytes(30 * kOneMib));
}

TEST(Explanation, is_of_the_error_where_one_ended_the_job_else_of_the_fullest_moment) {
  RecordingBuilder builder;
  builder.segment(1 << 30, 100 * kOneMib).alloc(1 << 30, 70 * kOneMib, "", "train.py:3 in main").free(1 << 30);
  builder.alloc(1 << 30, 10 * kOneMib, "", "train.py:8 in main").emit(VF_RECORD_OOM, 500 * kOneMib);
  const auto facts = gather({builder.build()});
  ASSERT_EQ(explain(*facts, false).lines.size(), 1u);
  EXPECT_EQ(explain(*facts, false).lines[0].line, "train.py:3 in main");
  EXPECT_EQ(explain(*facts, true).lines.at(0).line, "train.py:8 in main");
  EXPECT_EQ(explain(*facts, true).phases.at(0), "train");
}

}  // namespace
}  // namespace vramfit::facts
