// What the simulator does with random programs, checked by src/verify, which shares nothing with it: no two blocks that
// live have a byte in common, and each lies in a segment that lives as long.
#include "verify/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "allocator/card_device.h"
#include "allocator/simulator.h"
#include "allocator/testing/sizes.h"

namespace vramfit::allocator {
namespace {

using verify::Placed;

// Segments and blocks out of a trace; what still lives at the end dies behind it.
class Lives : public TraceSink {
 public:
  void on_event(const TraceEvent& event) override {
    ++now_;
    const auto size = static_cast<std::int64_t>(event.size);
    switch (event.action) {
      case TraceAction::kAlloc:
        begin(living_blocks_, event.address, size);
        break;
      case TraceAction::kFreeCompleted:
        end(living_blocks_, blocks, event.address);
        break;
      case TraceAction::kSegmentAlloc:
        begin(living_segments_, event.address, size);
        break;
      case TraceAction::kSegmentFree:
        end(living_segments_, segments, event.address);
        break;
      default:
        break;
    }
  }
  void finish() {
    ++now_;
    while (!living_blocks_.empty()) end(living_blocks_, blocks, living_blocks_.begin()->first);
    ++now_;
    while (!living_segments_.empty()) end(living_segments_, segments, living_segments_.begin()->first);
  }
  std::vector<Placed> blocks, segments;

 private:
  using Living = std::map<std::uint64_t, Placed>;
  void begin(Living& living, std::uint64_t address, std::int64_t size) { living[address] = {address, size, now_, 0}; }
  void end(Living& living, std::vector<Placed>& ended, std::uint64_t address) {
    const auto found = living.find(address);
    ASSERT_NE(found, living.end()) << "nothing lives at " << address;
    found->second.died = now_;
    ended.push_back(found->second);
    living.erase(found);
  }
  Living living_blocks_, living_segments_;
  std::uint64_t now_ = 0;
};

// Sizes of all kinds, two streams, blocks used on the other one, caches emptied, and more than the card has.
void play(Simulator& simulator, std::mt19937& random, int steps) {
  std::vector<std::pair<BlockId, std::uint32_t>> held;
  const auto one_of = [&](std::uint32_t most) { return static_cast<std::uint32_t>(random() % most); };
  for (int step = 0; step < steps; ++step) {
    const auto tag = static_cast<std::uint32_t>(step);
    const std::uint32_t kind = one_of(100);
    if (kind < 55 || held.empty()) {
      const std::uint64_t size = 1 + random() % (kind % 3 == 0 ? 2 * kKib : kind % 3 == 1 ? 3 * kMib : 60 * kMib);
      const BlockId block = simulator.malloc(size, one_of(2), tag);
      if (block != kNoBlock) held.emplace_back(block, tag);
      continue;
    }
    const std::size_t at = one_of(static_cast<std::uint32_t>(held.size()));
    if (kind < 96) {
      const bool is_used_elsewhere = kind < 60;
      if (is_used_elsewhere) simulator.record_stream(held[at].first, 7);
      simulator.free(held[at].first);
      if (is_used_elsewhere) simulator.complete(held[at].first, held[at].second);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (kind < 98) {
      simulator.empty_cache();
    }
  }
}

class Placement : public ::testing::TestWithParam<std::string> {};

TEST_P(Placement, of_random_programs_is_one_that_memory_allows) {
  for (const unsigned seed : {1u, 2u, 3u, 4u}) {
    for (const TorchVersion version : {TorchVersion{2, 5}, TorchVersion{2, 12}}) {
      CardDevice device(512 * kMib);
      const Rules rules = rules_of(version);
      Lives lives;
      {
        Simulator simulator(device, rules, parse_settings(GetParam(), rules).value());
        simulator.set_trace(&lives);
        std::mt19937 random(seed);
        play(simulator, random, 1500);
        lives.finish();
      }
      EXPECT_GT(lives.blocks.size(), 500u);
      const auto found = verify::check_placement(lives.blocks, lives.segments);
      EXPECT_TRUE(found.empty()) << "seed " << seed << ": " << found.front();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(settings, Placement,
                         ::testing::Values("", "max_split_size_mb:32", "roundup_power2_divisions:4",
                                           "garbage_collection_threshold:0.6"));

}  // namespace
}  // namespace vramfit::allocator
