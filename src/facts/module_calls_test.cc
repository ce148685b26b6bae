#include "facts/module_calls.h"

#include <gtest/gtest.h>
#include <vramfit/recording.h>

namespace vramfit::facts {
namespace {

using base::Bytes;
using model::BlockOwner;

// A pass of blocks that stay to its backward, by the module that each is made in.
model::AllocationStream stream_of(const std::vector<std::int32_t>& modules, std::int64_t mib) {
  model::AllocationStream stream;
  stream.modules = {{"cell", -1, Bytes::mib(6)}, {"head", -1, Bytes::mib(6)}};
  for (const std::int32_t module : modules) {
    const auto born = static_cast<model::StreamTime>(stream.blocks.size());
    stream.blocks.push_back(
        {born, 1000, module, mib << 20, VF_PHASE_TRAIN, VF_STAGE_FORWARD, BlockOwner::kActivations});
  }
  const auto turn = static_cast<model::StreamTime>(stream.blocks.size());
  stream.passes = {{0, turn, 1001}};
  return stream;
}

// The script calls a model of two modules for each letter: one forward of the root is one call of each.
TEST(ModuleCalls, are_told_by_pieces_that_leave_as_much_as_a_forward_of_the_root) {
  model::AllocationStream stream = stream_of({0, 0, 1, 0, 0, 1, 0, 0, 1}, 10);
  find_module_calls({{Bytes::mib(20), 1}, {Bytes::mib(10), 1}}, stream);
  EXPECT_EQ(stream.modules[0].blocks_of_call, 2U);
  EXPECT_EQ(stream.modules[0].output, Bytes::mib(6)) << "of one forward, which is one call";
  EXPECT_EQ(stream.modules[1].blocks_of_call, 1U);
}

// The model itself calls a cell three times in its forward.
TEST(ModuleCalls, within_one_forward_of_the_root_share_what_it_left_and_handed_on) {
  model::AllocationStream stream = stream_of({0, 0, 1, 0, 0, 1, 0, 0, 1}, 10);
  find_module_calls({{Bytes::mib(60), 3}, {Bytes::mib(30), 3}}, stream);
  EXPECT_EQ(stream.modules[0].blocks_of_call, 2U);
  EXPECT_EQ(stream.modules[0].output, Bytes::mib(2));
}

TEST(ModuleCalls, one_right_after_the_other_share_a_piece) {
  model::AllocationStream stream = stream_of({0, 0, 0, 0, 0, 0, 1}, 10);
  find_module_calls({{Bytes::mib(60), 3}, {Bytes::mib(10), 1}}, stream);
  EXPECT_EQ(stream.modules[0].blocks_of_call, 2U);
  EXPECT_EQ(stream.modules[1].blocks_of_call, 0U) << "called once";
}

// A layer that calls what is registered elsewhere is interrupted, and not called twice.
TEST(ModuleCalls, are_not_the_parts_of_one_that_something_else_interrupts) {
  model::AllocationStream stream = stream_of({0, 0, 1, 0, 0, 1, 0, 0}, 10);
  find_module_calls({{Bytes::mib(60), 1}, {Bytes::mib(20), 2}}, stream);
  EXPECT_EQ(stream.modules[0].blocks_of_call, 0U);
  EXPECT_EQ(stream.modules[0].output, Bytes::mib(6));
  EXPECT_EQ(stream.modules[1].blocks_of_call, 1U);
}

// A forward without a graph within training, as for a prediction, leaves little of each call.
TEST(ModuleCalls, are_told_by_those_that_leave_something_for_a_backward) {
  model::AllocationStream stream = stream_of({0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1}, 10);
  for (std::size_t i = 0; i < 9; ++i) stream.blocks[i].died = stream.blocks[i].born + 1;
  find_module_calls({{Bytes::mib(40), 2}, {Bytes::mib(20), 2}}, stream);
  EXPECT_EQ(stream.modules[0].blocks_of_call, 2U);
}

// cuBLAS' work space stays from the first call on; it is no call's own.
TEST(ModuleCalls, leave_no_work_space_of_a_library) {
  model::AllocationStream stream = stream_of({0, 0, 1, 0, 0}, 10);
  stream.blocks[1].owner = BlockOwner::kWorkspaces;
  stream.blocks[1].bytes = 1000LL << 20;
  find_module_calls({{Bytes::mib(40), 1}, {Bytes::mib(10), 1}}, stream);
  EXPECT_EQ(stream.modules[0].blocks_of_call, 0U) << "30 MiB are left, in two pieces of one call";
}

// The meter saw one letter; a step has three.
TEST(ModuleCalls, of_a_step_hold_so_many_times_what_one_forward_of_the_root_holds) {
  model::AllocationStream stream = stream_of({0, 0, 1, 0, 0, 1, 0, 0, 1}, 10);
  find_module_calls({{Bytes::mib(20), 1}, {Bytes::mib(10), 1}}, stream);
  model::ModuleBlock cell, other;
  cell.name = "cell";
  other.name = "other";
  cell.saved = other.saved = Bytes::mib(20);
  cell.output = other.output = Bytes::mib(6);
  std::vector<model::BlockLevel> levels = {{{cell, other}}};
  add_up_calls(stream, levels);
  const model::ModuleBlock& found = levels.front().blocks[0];
  EXPECT_EQ(found.calls, 3);
  EXPECT_EQ(found.saved, Bytes::mib(60));
  EXPECT_EQ(found.output, Bytes::mib(18));
  EXPECT_EQ(levels.front().blocks[1], other) << "called once, as far as anybody knows";
}

}  // namespace
}  // namespace vramfit::facts
