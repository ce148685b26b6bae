#include "allocator/simulator.h"

#include <gtest/gtest.h>

#include <random>

#include "allocator/card_device.h"
#include "allocator/invariants.h"
#include "allocator/testing/sizes.h"

namespace vramfit::allocator {
namespace {

struct Bench {
  explicit Bench(std::string_view conf = "", std::uint64_t card = 8 * kGib, TorchVersion version = {2, 12})
      : device(card), simulator(device, rules_of(version), parse_settings(conf, rules_of(version)).value()) {
    simulator.set_trace(&log);
  }
  std::int64_t reserved() const { return simulator.statistics().current(StatKind::kReservedBytes); }
  std::int64_t allocated() const { return simulator.statistics().current(StatKind::kAllocatedBytes); }
  CardDevice device;
  TraceLog log;
  Simulator simulator;
};

TEST(Simulator, small_requests_share_a_segment_of_two_mebibytes) {
  Bench bench;
  const BlockId first = bench.simulator.malloc(1, 0);
  const BlockId second = bench.simulator.malloc(513, 0);
  EXPECT_EQ(bench.simulator.block(second).address, bench.simulator.block(first).address + 512);
  EXPECT_EQ(bench.simulator.block(second).size, 1024U);
  EXPECT_EQ(bench.reserved(), 2 << 20);
  EXPECT_EQ(bench.allocated(), 1536);
}

TEST(Simulator, a_request_just_over_one_mebibyte_takes_twenty) {
  Bench bench;
  bench.simulator.malloc(kMib + 1, 0);
  EXPECT_EQ(bench.reserved(), 20 << 20);
  bench.simulator.malloc(10 * kMib, 0);
  EXPECT_EQ(bench.reserved(), 20 << 20) << "10 MiB fit in the rest of the segment";
  bench.simulator.malloc(10 * kMib, 0);
  EXPECT_EQ(bench.reserved(), 30 << 20) << "from 10 MiB on, segments are multiples of 2 MiB";
}

//   [ a | b | c | rest ]  ->  [ a |   free   | rest ]  ->  [ whole segment ]
TEST(Simulator, freeing_merges_both_neighbours) {
  Bench bench;
  const BlockId a = bench.simulator.malloc(4 * kMib, 0), b = bench.simulator.malloc(4 * kMib, 0),
                c = bench.simulator.malloc(4 * kMib, 0);
  bench.simulator.free(a);
  bench.simulator.free(c);
  bench.simulator.free(b);
  const AllocatorState state = bench.simulator.state();
  ASSERT_EQ(state.segments.size(), 1U);
  ASSERT_EQ(state.segments[0].blocks.size(), 1U);
  EXPECT_EQ(state.segments[0].blocks[0].size, 20 * kMib);
  EXPECT_EQ(bench.simulator.statistics().current(StatKind::kInactiveSplit), 0);
}

TEST(Simulator, a_block_serves_only_its_own_stream) {
  Bench bench;
  const BlockId first = bench.simulator.malloc(64 * kMib, 7);
  bench.simulator.free(first);
  bench.simulator.malloc(64 * kMib, 8);
  EXPECT_EQ(bench.reserved(), 128 << 20);
}

TEST(Simulator, out_of_memory_comes_after_the_cache_was_given_back_and_names_the_segment) {
  Bench bench("", 100 * kMib);
  const BlockId cached = bench.simulator.malloc(60 * kMib, 0);
  bench.simulator.free(cached);
  EXPECT_NE(bench.simulator.malloc(80 * kMib, 0), kNoBlock) << "the 60 MiB went back";
  EXPECT_EQ(bench.simulator.statistics().retries, 1);
  EXPECT_EQ(bench.simulator.malloc(30 * kMib + 1, 0), kNoBlock);
  ASSERT_TRUE(bench.simulator.last_oom());
  EXPECT_EQ(bench.simulator.last_oom()->tried_bytes, 32 * kMib);
  EXPECT_EQ(
      message_of(*bench.simulator.last_oom(), 0, {2, 12}),
      "CUDA out of memory. Tried to allocate 32.00 MiB. GPU 0 has a total capacity of 100.00 MiB of which 20.00 "
      "MiB is free. Of the allocated memory 80.00 MiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch "
      "but unallocated.");
}

// pytorch issue 189504: the events have passed, the block is free, and the call fails all the same.
//
//   64 MiB segment [ pending 40 | live 24 ]   30 MiB segment [ live ]   6 MiB left on the card
TEST(Simulator, a_block_whose_events_pass_in_the_last_release_is_missed_once) {
  Bench bench("", 100 * kMib);
  bench.simulator.free(bench.simulator.malloc(64 * kMib, 0));
  const BlockId pending = bench.simulator.malloc(40 * kMib, 0);
  bench.simulator.malloc(24 * kMib, 0);
  bench.simulator.malloc(30 * kMib, 0);
  bench.simulator.record_stream(pending, 9);
  bench.simulator.free(pending);
  EXPECT_EQ(bench.simulator.malloc(40 * kMib, 0), kNoBlock);
  EXPECT_NE(bench.simulator.malloc(40 * kMib, 0), kNoBlock);
  EXPECT_EQ(bench.simulator.statistics().ooms, 1);
}

// complete() leaves the events where they stand in their queues: they may not end a later wait of the same block.
TEST(Simulator, a_block_that_was_completed_waits_for_its_own_events_when_it_is_freed_again) {
  struct : EventSource {
    bool has_passed(std::uint64_t event) override { return event < passed; }
    std::uint64_t passed = 0;
  } events;
  Bench bench("", 1 << 30);
  bench.simulator.set_events(&events);
  const auto wait = [&](std::uint32_t tag) {
    const BlockId block = bench.simulator.malloc(40 * kMib, 0, tag);
    bench.simulator.record_stream(block, 9);
    bench.simulator.free(block);
    return block;
  };
  const BlockId first = wait(1);
  bench.simulator.complete(first, 1);
  ASSERT_EQ(wait(2), first) << "it is free again";
  ASSERT_EQ(wait(3), first + 1) << "it waits";
  events.passed = 1;  // the first of three
  EXPECT_NE(bench.simulator.malloc(40 * kMib, 0), first) << "an event of the earlier wait has passed, not its own";
  events.passed = 2;
  EXPECT_EQ(bench.simulator.malloc(40 * kMib, 0), first);
}

TEST(Simulator, an_expandable_segment_grows_by_pages_of_twenty_mebibytes) {
  Bench bench("expandable_segments:True");
  bench.simulator.malloc(16 * kMib, 0);
  EXPECT_EQ(bench.reserved(), 20 << 20);
  bench.simulator.malloc(16 * kMib, 0);
  EXPECT_EQ(bench.reserved(), 40 << 20);
  bench.simulator.malloc(8 * kMib, 0);
  EXPECT_EQ(bench.reserved(), 40 << 20);
  EXPECT_EQ(bench.simulator.statistics().current(StatKind::kSegment), 0) << "segments are not counted";
}

TEST(Simulator, an_oversize_block_is_neither_split_nor_given_to_small_requests) {
  Bench bench("max_split_size_mb:32");
  const BlockId large = bench.simulator.malloc(64 * kMib, 0);
  bench.simulator.free(large);
  bench.simulator.malloc(16 * kMib, 0);
  EXPECT_EQ(bench.reserved(), (64 + 16) << 20);
  EXPECT_EQ(bench.simulator.statistics().oversize_segments.current, 1);
  const BlockId near = bench.simulator.malloc(50 * kMib, 0);
  EXPECT_EQ(bench.simulator.block(near).size, 64 * kMib) << "whole, with 14 MiB unused";
}

TEST(Simulator, a_fraction_of_one_is_a_limit_only_before_2_10) {
  for (const auto& [version, limited] : {std::pair{TorchVersion{2, 6}, true}, {TorchVersion{2, 12}, false}}) {
    Bench bench("", kGib, version);
    bench.simulator.set_memory_fraction(1);
    EXPECT_EQ(bench.simulator.limit_bytes().has_value(), limited);
  }
}

struct Walk {
  const char* conf;
  TorchVersion version;
};

class Invariants : public testing::TestWithParam<Walk> {};

TEST_P(Invariants, hold_after_every_step_of_a_random_walk) {
  Bench bench(GetParam().conf, 600 * kMib, GetParam().version);
  std::mt19937 random(11);
  std::vector<BlockId> live;
  for (int step = 0; step < 6000; ++step) {
    const auto dice = random() % 100;
    if (dice < 52) {
      const std::uint64_t scale = std::uint64_t{1} << (random() % 27);
      const BlockId block = bench.simulator.malloc(1 + random() % scale + scale / 2, random() % 3);
      if (block != kNoBlock) live.push_back(block);
    } else if (dice < 96 && !live.empty()) {
      const std::size_t at = random() % live.size();
      if (dice < 60) bench.simulator.record_stream(live[at], random() % 3);
      bench.simulator.free(live[at]);
      live[at] = live.back();
      live.pop_back();
    } else if (dice == 98) {
      bench.simulator.empty_cache();
    }
    const auto violations = InvariantCheck(bench.simulator).violations();
    ASSERT_EQ(violations, std::vector<std::string>{}) << "after step " << step;
  }
  for (const BlockId block : live) bench.simulator.free(block);
  bench.simulator.empty_cache();
  EXPECT_EQ(bench.reserved(), 0);
  EXPECT_EQ(bench.device.used_bytes(), 0U);
  EXPECT_GT(bench.simulator.statistics().ooms, 0);
}

INSTANTIATE_TEST_SUITE_P(Settings, Invariants,
                         testing::Values(Walk{"", {2, 12}}, Walk{"", {2, 6}}, Walk{"expandable_segments:True", {2, 12}},
                                         Walk{"max_split_size_mb:32", {2, 12}},
                                         Walk{"max_split_size_mb:32,max_non_split_rounding_mb:64", {2, 12}},
                                         Walk{"roundup_power2_divisions:4", {2, 6}},
                                         Walk{"expandable_segments:True,max_split_size_mb:64", {2, 12}},
                                         Walk{"large_segment_size_mb:64,expandable_segments:True", {2, 12}},
                                         Walk{"garbage_collection_threshold:0.5,per_process_memory_fraction:0.8",
                                              {2, 12}}));

TEST(Simulator, events_of_other_streams_keep_a_block_until_they_pass) {
  Bench bench;
  const BlockId block = bench.simulator.malloc(kMib * 4, 1, 42);
  bench.simulator.record_stream(block, 1);  // its own stream: nothing to wait for
  bench.simulator.record_stream(block, 2);
  bench.simulator.free(block);
  EXPECT_EQ(bench.simulator.statistics().current(StatKind::kActiveBytes), 4 << 20);
  bench.simulator.complete(block, 41);  // another tag: not that block
  EXPECT_EQ(bench.simulator.statistics().current(StatKind::kActiveBytes), 4 << 20);
  bench.simulator.complete(block, 42);
  EXPECT_EQ(bench.simulator.statistics().current(StatKind::kActiveBytes), 0);
}

TEST(Simulator, a_private_pool_keeps_its_segments_until_nobody_uses_it) {
  Bench bench;
  const PoolId pool{0, 1};
  bench.simulator.create_pool(pool);
  bench.simulator.begin_allocate_to_pool(pool, 5);
  const BlockId inside = bench.simulator.malloc(40 * kMib, 5);
  bench.simulator.end_allocate_to_pool(pool);
  bench.simulator.free(inside);
  bench.simulator.empty_cache();
  EXPECT_EQ(bench.reserved(), 40 << 20);
  bench.simulator.release_pool(pool);
  bench.simulator.release_pool(pool);  // begin counted once, create once
  bench.simulator.empty_cache();
  EXPECT_EQ(bench.reserved(), 0);
}

TEST(Simulator, sizes_print_as_pytorch_prints_them) {
  EXPECT_EQ(format_size(1024), "1024 bytes");
  EXPECT_EQ(format_size(1024 * kKib), "1024.00 KiB");
  EXPECT_EQ(format_size(1024 * kMib), "1024.00 MiB");
  EXPECT_EQ(format_size(1024 * kMib + 1), "1.00 GiB");
}

}  // namespace
}  // namespace vramfit::allocator
