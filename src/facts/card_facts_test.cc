#include "facts/card_facts.h"

#include <gtest/gtest.h>

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
