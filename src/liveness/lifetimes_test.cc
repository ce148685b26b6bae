#include "liveness/lifetimes.h"

#include <gtest/gtest.h>

#include <random>

#include "liveness/peaks.h"
#include "liveness/testing/recording_builder.h"
#include "model/recording.h"

namespace vramfit::liveness {
namespace {

using testing::RecordingBuilder;

//  address
//    300 |         +--C--+
//    100 |   +--B--+     |
//      0 | +---A---------+---
//          0  1    2  3  4    event
TEST(Lifetimes, blocks_live_from_their_allocation_to_their_free) {
  RecordingBuilder builder;
  builder.alloc(1000, 100).alloc(1100, 200).free(1100).alloc(1300, 50).free(1300);
  const std::vector recordings = {builder.build()};
  const auto histories = build_histories(recordings);
  ASSERT_EQ(histories.size(), 1u);
  const CardHistory& history = histories[0];
  ASSERT_EQ(history.blocks.size(), 3u);
  EXPECT_EQ(history.blocks[0].died, kNever);
  EXPECT_EQ(history.blocks[1].born, 1u);
  EXPECT_EQ(history.blocks[1].died, 2u);
  EXPECT_TRUE(history.blocks[2].lives_at(3));
  EXPECT_FALSE(history.blocks[2].lives_at(4));
  EXPECT_EQ(history.inconsistent_events, 0);
}

TEST(Lifetimes, an_address_used_again_is_another_block) {
  RecordingBuilder builder;
  builder.alloc(1000, 100).free(1000).alloc(1000, 300);
  const std::vector recordings = {builder.build()};
  const auto history = build_histories(recordings).at(0);
  ASSERT_EQ(history.blocks.size(), 2u);
  EXPECT_EQ(history.blocks[1].size, Bytes(300));
}

TEST(Lifetimes, a_tag_inside_a_block_names_it_even_after_the_peak) {
  RecordingBuilder builder;
  builder.alloc(1000, 100)
      .alloc(2000, 100)
      .free(2000)
      .tag(1060, VF_OWNER_GRADIENT, "fc.weight")
      .tag(5000, VF_OWNER_INPUT);
  const std::vector recordings = {builder.build()};
  const auto history = build_histories(recordings).at(0);
  EXPECT_EQ(history.blocks[0].owner, VF_OWNER_GRADIENT);
  EXPECT_EQ(recordings[0].text(history.blocks[0].tag), "fc.weight");
  EXPECT_EQ(history.blocks[1].owner, VF_OWNER_UNKNOWN);
}

// A copy of the input, the result, the workspace that is given back; then an operator of another kind.
TEST(Lifetimes, the_result_of_a_product_is_the_last_block_before_it_that_outlives_the_call) {
  RecordingBuilder builder;
  builder.alloc(1000, 100).alloc(2000, 100).alloc(3000, 100);
  builder.emit(VF_RECORD_CONVOLUTION).free(3000).alloc(4000, 100);
  builder.alloc(5000, 100).emit(VF_RECORD_MATMUL, VF_DTYPE_F32, 0, "gemmEx");
  builder.alloc(6000, 100).emit(VF_RECORD_MATMUL, VF_DTYPE_F32, 0, "gemmStridedBatchedEx").alloc(7000, 100);
  const std::vector recordings = {builder.build()};
  const auto history = build_histories(recordings).at(0);
  std::vector<bool> products;
  for (const Block& block : history.blocks) products.push_back(block.product);
  EXPECT_EQ(products, (std::vector{false, true, false, false, true, false, false}));
}

TEST(Lifetimes, a_product_into_memory_that_was_there_marks_nothing) {
  RecordingBuilder builder;
  const auto multiply = [&] { builder.emit(VF_RECORD_MATMUL, VF_DTYPE_F32, 0, "gemm"); };
  builder.alloc(1000, 100);
  multiply();
  builder.alloc(2000, 100).free(2000);
  multiply();
  const std::vector recordings = {builder.build()};
  const auto history = build_histories(recordings).at(0);
  EXPECT_TRUE(history.blocks[0].product);
  EXPECT_FALSE(history.blocks[1].product);
}

TEST(Lifetimes, processes_on_one_card_are_merged_by_time_and_added) {
  RecordingBuilder first, second;
  first.at(0).alloc(1000, 100).at(10).free(1000);
  second.at(5).alloc(1000, 30).at(20).alloc(2000, 7);
  const std::vector recordings = {first.build(1), second.build(2)};
  const auto history = build_histories(recordings).at(0);
  ASSERT_EQ(history.levels.size(), 4u);
  EXPECT_EQ(history.levels[1].allocated, Bytes(130));
  EXPECT_EQ(history.levels[2].allocated, Bytes(30));
  EXPECT_EQ(history.inconsistent_events, 0) << "the same address in two processes is no clash";
  EXPECT_EQ(find_peaks(history).allocated, Bytes(130));
}

TEST(Lifetimes, cards_are_kept_apart) {
  RecordingBuilder builder;
  builder.alloc(1000, 100);
  builder.device = 3;
  builder.alloc(1000, 50);
  builder.device = 255;
  builder.emit(VF_RECORD_PIN, 4096);
  const std::vector recordings = {builder.build()};
  const auto histories = build_histories(recordings);
  ASSERT_EQ(histories.size(), 2u);
  EXPECT_EQ(histories[1].device, 3);
  EXPECT_EQ(histories[1].blocks.size(), 1u);
}

TEST(Lifetimes, steps_and_tags_of_one_rank_are_no_moments_of_another_ranks_card) {
  RecordingBuilder training, validating;
  training.at(0).alloc(1000, 200).at(10).free(1000);
  validating.device = 1;
  validating.phase = VF_PHASE_VALIDATE;
  validating.at(1).alloc(1000, 30).at(5).tag(1000, VF_OWNER_INPUT).emit(VF_RECORD_STEP, 0, 1);
  const std::vector recordings = {training.build(1), validating.build(2)};
  const auto histories = build_histories(recordings);
  ASSERT_EQ(histories.size(), 2u);
  EXPECT_EQ(histories[0].levels.size(), 2u);
  const auto rows = find_phase_peaks(histories[0]);
  ASSERT_EQ(rows.size(), 1u) << "card 0 only trains";
  EXPECT_EQ(rows[0].name, "train");
  EXPECT_EQ(find_phase_peaks(histories[1]).at(0).steps, 1);
}

TEST(Lifetimes, frees_of_blocks_nobody_saw_are_counted) {
  RecordingBuilder builder;
  builder.free(77).alloc(1000, 10).alloc(1000, 20);
  const std::vector recordings = {builder.build()};
  EXPECT_EQ(build_histories(recordings).at(0).inconsistent_events, 2);
}

TEST(Lifetimes, a_forked_worker_that_frees_what_its_parent_made_adds_nothing) {
  RecordingBuilder parent, worker;
  parent.segment(1000, 500).alloc(1000, 100);
  worker.segment(1000, 500).alloc(1000, 100).alloc(2000, 10).free(1000);
  model::Recording forked = worker.build();
  forked.records = forked.records.subspan(3);  // it inherited the counters, not the events
  const std::vector recordings = {parent.build(), forked};
  EXPECT_EQ(find_peaks(build_histories(recordings).at(0)).reserved, Bytes(500));
}

// The slow and obvious way: walk all events up to a moment and keep what was not freed.
std::int64_t live_bytes_by_hand(const model::Recording& recording, std::size_t events) {
  std::map<std::uint64_t, std::int64_t> live;
  for (std::size_t i = 0; i < events; ++i) {
    const vf_record& record = recording.records[i];
    if (record.kind == VF_RECORD_BLOCK_ALLOC) live[record.address] = record.size;
    if (record.kind == VF_RECORD_BLOCK_FREE) live.erase(record.address);
  }
  std::int64_t sum = 0;
  for (const auto& [address, size] : live) sum += size;
  return sum;
}

TEST(Lifetimes, the_live_set_equals_a_walk_by_hand_at_every_moment_of_random_recordings) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    RecordingBuilder builder;
    std::vector<std::uint64_t> live;
    for (int i = 0; i < 150; ++i) {
      const std::uint64_t address = 4096 * (random() % 40 + 1);
      const auto known = std::find(live.begin(), live.end(), address);
      if (known == live.end()) {
        builder.alloc(address, 1 + random() % 4096);
        live.push_back(address);
      } else {
        builder.free(address);
        live.erase(known);
      }
    }
    const std::vector recordings = {builder.build()};
    const CardHistory history = build_histories(recordings).at(0);
    std::int64_t highest = 0;
    for (EventIndex at = 0; at < history.levels.size(); ++at) {
      std::int64_t bytes = 0;
      for (const Block& block : history.blocks) bytes += block.lives_at(at) ? block.size.count() : 0;
      ASSERT_EQ(bytes, live_bytes_by_hand(recordings[0], at + 1)) << "seed " << seed << " event " << at;
      ASSERT_EQ(bytes, history.levels[at].allocated.count());
      highest = std::max(highest, bytes);
    }
    EXPECT_EQ(find_peaks(history).allocated.count(), highest);
  }
}

//  process 1   |--context--A-----|                   what it held is gone when it ends,
//  process 2          |--context------B---------|    and never added to what came later
TEST(Lifetimes, a_process_that_ended_holds_nothing_any_more) {
  RecordingBuilder first, second;
  first.context(50).alloc(1000, 100);
  second.at(10).context(50).alloc(1000, 200).free(1000);
  const std::vector recordings = {first.build(), second.build()};
  const auto history = build_histories(recordings).at(0);
  ASSERT_EQ(history.levels.size(), 5u);
  EXPECT_EQ(history.levels[1].overheads.context, Bytes(50));
  EXPECT_EQ(history.levels[2].overheads.context, Bytes(50));
  EXPECT_EQ(history.levels[3].allocated, Bytes(200));
  EXPECT_FALSE(history.blocks[0].lives_at(2));
  EXPECT_FALSE(history.blocks[0].freed);
  EXPECT_EQ(history.overheads.context, Bytes(50));
}

TEST(Lifetimes, figures_that_no_card_can_have_are_left_out) {
  RecordingBuilder builder;
  builder.alloc(1000, 100).emit(VF_RECORD_CONTEXT, std::numeric_limits<std::int64_t>::max()).alloc(2000, 100);
  const std::vector recordings = {builder.build(), builder.build()};
  const auto history = build_histories(recordings).at(0);
  EXPECT_EQ(history.overheads.context, Bytes(0));
  EXPECT_EQ(history.levels.back().allocated, Bytes(200));
}

}  // namespace
}  // namespace vramfit::liveness
