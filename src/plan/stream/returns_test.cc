#include "plan/stream/returns.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace vramfit::plan {
namespace {

constexpr std::int64_t kMibReturned = 1 << 20;

void add(model::AllocationStream& stream, model::StreamTime born, model::StreamTime died, int module,
         std::int64_t bytes, bool is_forward) {
  const auto stage = is_forward ? VF_STAGE_FORWARD : VF_STAGE_BACKWARD;
  const auto owner = is_forward ? model::BlockOwner::kActivations : model::BlockOwner::kTemporaries;
  stream.blocks.push_back({born, died, module, bytes, VF_PHASE_TRAIN, static_cast<std::uint8_t>(stage), owner});
}

// Two operators saved what `relu` made; each makes a gradient of it. `share`: of all bytes.
model::AllocationStream own_run(double share = 1) {
  const auto mib = [&](std::int64_t count) {
    return static_cast<std::int64_t>(share * static_cast<double>(count * kMibReturned));
  };
  model::AllocationStream stream;
  stream.modules = {{"relu", -1, base::Bytes(mib(40))}};
  add(stream, 1, 9, 0, mib(40), true);
  add(stream, 4, 8, -1, mib(16), false);
  add(stream, 6, 10, -1, mib(24), false);
  stream.passes = {{1, 3, 11}};
  return stream;
}

model::AllocationStream offloaded_run() {
  model::AllocationStream stream;
  stream.modules = {{"relu", -1, base::Bytes(40 * kMibReturned)}};
  add(stream, 1, 2, 0, 40 * kMibReturned, true);
  add(stream, 4, 6, -1, 40 * kMibReturned, false);
  add(stream, 5, 10, -1, 16 * kMibReturned, false);
  add(stream, 7, 9, -1, 40 * kMibReturned, false);
  add(stream, 8, 11, -1, 24 * kMibReturned, false);
  stream.passes = {{1, 3, 12}};
  return stream;
}

void expect_a_copy_for_each_operator(const model::AllocationStream& stream) {
  const auto copies = find_returns(stream, own_run(), offloaded_run(), 0);
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_TRUE(std::ranges::all_of(copies, [](const ReturnedCopy& copy) { return copy.block == 0; }));
  EXPECT_LT(copies[0].born, at_event(4)) << "before what its operator makes";
  EXPECT_GT(copies[0].died, at_event(4));
  EXPECT_LT(copies[0].died, copies[1].born) << "each has its own";
  EXPECT_LT(copies[1].born, at_event(6));
  EXPECT_GT(copies[1].died, at_event(6));
  EXPECT_LT(copies[1].died, at_event(11)) << "within the pass";
}

TEST(Returns, each_operator_that_saved_a_block_is_given_a_copy) { expect_a_copy_for_each_operator(own_run()); }

TEST(Returns, another_run_whose_blocks_are_of_half_the_bytes_learns_from_it_too) {
  expect_a_copy_for_each_operator(own_run(0.5));
}

TEST(Returns, a_run_with_another_backward_learns_nothing) {
  model::AllocationStream other = own_run();
  for (model::StreamBlock& block : other.blocks) block.bytes *= block.born > 3 ? 7 : 1;
  EXPECT_TRUE(find_returns(other, own_run(), offloaded_run(), 0).empty());
  EXPECT_TRUE(find_returns(own_run(), own_run(), offloaded_run(), 1).empty()) << "it has no second pass";
}

TEST(Returns, a_plan_with_activations_in_host_memory_is_played_with_them) {
  const model::AllocationStream own = own_run(), offloaded = offloaded_run();
  Reshaping reshaping;
  for (auto& phase : reshaping.shares) {
    for (auto& stage : phase) stage.fill(1);
  }
  reshaping.offloads = true;
  const auto count = [&] { return std::ranges::count(reshape(own, reshaping), 40 * kMibReturned, &Life::bytes); };
  EXPECT_EQ(count(), 2) << "in the forward, and once in the backward";
  reshaping.own = &own;
  reshaping.offloaded = &offloaded;
  EXPECT_EQ(count(), 3) << "for each operator";
}

// A batch that only the first layer's graph holds waits there as well.
TEST(Returns, a_batch_is_saved_unless_the_script_keeps_it) {
  const model::StreamPass pass{2, 5, 9};
  model::StreamBlock batch{1, 8, -1, 4 * kMibReturned, VF_PHASE_TRAIN, VF_STAGE_INPUT, model::BlockOwner::kInputs};
  EXPECT_TRUE(is_saved(batch, pass, 4));
  batch.died = 10;
  EXPECT_FALSE(is_saved(batch, pass, 4));
}

}  // namespace
}  // namespace vramfit::plan
