#include "plan/stream/last_uses.h"

#include <gtest/gtest.h>

#include "plan/stream/asked.h"

namespace vramfit::plan {
namespace {

using model::BlockOwner;
using model::StreamTime;

constexpr std::int64_t kMega = 1 << 20;

void add(model::AllocationStream& stream, StreamTime born, StreamTime died, int module, std::int64_t mib,
         std::uint8_t phase) {
  stream.blocks.push_back({born, died, module, mib * kMega, phase, VF_STAGE_FORWARD, BlockOwner::kActivations, false});
}

// conv | norm | add, which takes what came in. In training (1 to 4) all wait for backward; an evaluation of twice the
// batch (20 to 23) lets conv's go when norm is done, norm's and what came in when add is.
model::AllocationStream residual() {
  model::AllocationStream stream;
  const auto mib = [](std::int64_t count) { return base::Bytes::mib(count); };
  stream.modules = {
      {"stem", -1, mib(30)}, {"block", -1, mib(30)}, {"block.conv", 1, mib(30)}, {"block.norm", 1, mib(30)}};
  stream.passes = {{1, 10, 19}};
  const StreamTime of_backward = 15;
  add(stream, 1, of_backward, 0, 30, VF_PHASE_TRAIN);
  add(stream, 2, of_backward, 2, 30, VF_PHASE_TRAIN);
  add(stream, 3, of_backward, 3, 30, VF_PHASE_TRAIN);
  add(stream, 4, of_backward, 1, 30, VF_PHASE_TRAIN);
  add(stream, 5, of_backward, -1, 1, VF_PHASE_TRAIN);
  add(stream, 20, 26, 0, 60, VF_PHASE_VALIDATE);
  add(stream, 21, 23, 2, 60, VF_PHASE_VALIDATE);
  add(stream, 22, 25, 3, 60, VF_PHASE_VALIDATE);
  add(stream, 24, 28, 1, 60, VF_PHASE_VALIDATE);
  add(stream, 30, 31, -1, 1, VF_PHASE_VALIDATE);
  return stream;
}

TEST(LastUses, are_those_that_an_evaluation_shows) {
  const model::AllocationStream stream = residual();
  const auto uses = find_last_uses(stream, stream.passes.front(), {});
  EXPECT_EQ(uses[1], at_event(4) - 1) << "conv's: the norm is through before the sum is made";
  EXPECT_EQ(uses[2], at_event(5) - 1) << "norm's: with the sum";
  EXPECT_EQ(uses[0], at_event(5) - 1) << "what came in is held for the sum, not only for conv";
  EXPECT_EQ(uses[4], 0u) << "the script's own: no module shows it";
}

TEST(LastUses, an_evaluation_that_keeps_its_graph_shows_nothing) {
  model::AllocationStream stream = residual();
  for (model::StreamBlock& block : stream.blocks) {
    if (block.phase == VF_PHASE_VALIDATE) block.died = 40;
  }
  const auto uses = find_last_uses(stream, stream.passes.front(), {});
  EXPECT_EQ(uses, std::vector<PlayTime>(stream.blocks.size(), 0));
}

TEST(LastUses, another_run_shows_them_where_the_job_evaluates_with_a_graph) {
  const model::AllocationStream shown = residual();
  model::AllocationStream stream = residual();
  for (model::StreamBlock& block : stream.blocks) {
    if (block.phase == VF_PHASE_VALIDATE) block.died = 40;
  }
  const auto in_training = find_last_uses(stream, stream.passes.front(), {&shown, nullptr});
  EXPECT_EQ(in_training, find_last_uses(shown, shown.passes.front(), {}));
  const auto in_evaluation = find_last_uses(stream, 5, 9, shown);
  EXPECT_EQ(in_evaluation[6], at_event(24) - 1) << "conv's: the norm is through before the sum is made";
  EXPECT_EQ(in_evaluation[7], at_event(25) - 1) << "norm's: with the sum";
  EXPECT_EQ(in_evaluation[5], at_event(25) - 1) << "what came in";
  EXPECT_EQ(in_evaluation[8], at_event(25) - 1) << "the network's own goes before the next is made";
}

// The same without an evaluation: steps whose activations wait in host memory.
model::AllocationStream residual_in_host_memory() {
  model::AllocationStream stream = residual();
  stream.blocks.clear();
  stream.passes = {{21, 40, 49}};
  add(stream, 21, 27, 0, 30, VF_PHASE_TRAIN);
  add(stream, 22, 24, 2, 30, VF_PHASE_TRAIN);
  add(stream, 23, 26, 3, 30, VF_PHASE_TRAIN);
  add(stream, 25, 43, 1, 30, VF_PHASE_TRAIN);  // as if it were too small to be copied
  add(stream, 30, 45, -1, 1, VF_PHASE_TRAIN);
  return stream;
}

TEST(LastUses, steps_with_activations_in_host_memory_show_them_where_nothing_evaluates) {
  model::AllocationStream stream = residual();
  const auto shown_by_evaluation = find_last_uses(stream, stream.passes.front(), {});
  stream.blocks.resize(5);
  const auto guessed = find_last_uses(stream, stream.passes.front(), {});
  EXPECT_EQ(guessed, std::vector<PlayTime>(5, 0)) << "nothing shows them";
  const model::AllocationStream offloaded = residual_in_host_memory();
  const auto uses = find_last_uses(stream, stream.passes.front(), {nullptr, &offloaded});
  EXPECT_EQ(uses[0], shown_by_evaluation[0]);
  EXPECT_EQ(uses[1], shown_by_evaluation[1]);
  EXPECT_EQ(uses[2], shown_by_evaluation[2]);
  EXPECT_EQ(uses[3], 0u) << "what stays on the card tells nothing";
}

TEST(LastUses, evaluations_are_asked_before_steps_with_activations_in_host_memory) {
  const model::AllocationStream stream = residual();
  model::AllocationStream offloaded = residual_in_host_memory();
  offloaded.blocks[1].died = 26;  // one that a graph of the script's own kept
  const auto uses = find_last_uses(stream, stream.passes.front(), {nullptr, &offloaded});
  EXPECT_EQ(uses, find_last_uses(stream, stream.passes.front(), {}));
}

TEST(LastUses, what_outlives_a_forward_is_the_scripts) {
  model::AllocationStream shown = residual();
  shown.blocks[8].died = 35;  // after the script's block of 30
  model::AllocationStream stream = residual();
  for (model::StreamBlock& block : stream.blocks) {
    if (block.phase == VF_PHASE_VALIDATE) block.died = 40;
  }
  stream.blocks[9].stage = shown.blocks[9].stage = VF_STAGE_INPUT;
  EXPECT_EQ(find_last_uses(stream, 5, 9, shown)[8], 0u);
}

TEST(LastUses, a_block_of_another_size_is_another_tensor) {
  model::AllocationStream stream = residual();
  stream.blocks[6].bytes = 90 * kMega;
  const auto uses = find_last_uses(stream, stream.passes.front(), {});
  EXPECT_EQ(uses[1], 0u);
  EXPECT_NE(uses[0], 0u);
}

// Dropout makes blocks that an evaluation does not: the second of them is of the size of what is next but one.
TEST(LastUses, a_block_that_only_training_has_keeps_no_other_from_its_fellow) {
  model::AllocationStream stream;
  stream.modules = {{"layers", -1, {}}, {"stem", -1, {}}};
  stream.passes = {{0, 10, 19}};
  add(stream, 0, 15, 1, 7, VF_PHASE_TRAIN);
  for (const auto& [born, mib] : {std::pair(1U, 12), {2U, 3}, {3U, 3}, {4U, 12}, {5U, 3}}) {
    add(stream, born, 15, 0, mib, VF_PHASE_TRAIN);
  }
  add(stream, 19, 21, 1, 14, VF_PHASE_VALIDATE);
  for (const auto& [born, mib] : {std::pair(20U, 24), {22U, 6}, {24U, 24}, {26U, 6}}) {
    add(stream, born, born + 3, 0, mib, VF_PHASE_VALIDATE);
  }
  add(stream, 30, 31, -1, 1, VF_PHASE_VALIDATE);
  const auto uses = find_last_uses(stream, stream.passes.front(), {});
  EXPECT_GT(uses[1], 0u);
  EXPECT_GT(uses[4], 0u) << "the second of 12 is the second of 24";
  EXPECT_GT(uses[5], 0u);
  EXPECT_EQ((uses[2] > 0) + (uses[3] > 0), 1) << "one of the two is the one that both have";
}

TEST(Asked, is_the_least_that_a_tensor_was_given_in_any_step) {
  model::AllocationStream stream;
  stream.modules = {{"a", -1, base::Bytes::mib(30)}};
  stream.passes = {{0, 1, 2}, {10, 11, 12}, {20, 21, 22}};
  add(stream, 0, 2, 0, 31, VF_PHASE_TRAIN);
  add(stream, 10, 12, 0, 30, VF_PHASE_TRAIN);
  add(stream, 20, 22, 0, 40, VF_PHASE_TRAIN);  // another tensor: that is more than what is not split off
  EXPECT_EQ(find_asked(stream), (std::vector<std::int64_t>{30 * kMega, 30 * kMega, 40 * kMega}));
  stream.modules[0].output = base::Bytes(30 * kMega - 600);
  EXPECT_EQ(find_asked(stream), (std::vector<std::int64_t>{30 * kMega - 512, 30 * kMega - 512, 40 * kMega}))
      << "what it handed on, in whole 512 bytes";
}

// 30 leave a hole, of which 29.5 take all: no rest of so little is split off. What was asked of it, a block beside it
// tells that was split off from more.
TEST(Asked, is_what_a_neighbour_was_given_where_the_allocator_took_a_block_whole) {
  model::AllocationStream stream;
  stream.torch_version = "2.12.1";
  stream.modules = {{"a", -1, {}}};
  const auto add_half = [&](StreamTime born, StreamTime died, std::int64_t halves) {
    stream.blocks.push_back(
        {born, died, 0, halves * kMega / 2, VF_PHASE_TRAIN, VF_STAGE_FORWARD, BlockOwner::kActivations, false});
  };
  add_half(0, 1, 100);
  add_half(2, 9, 59);   // 29.5 of 50, split off
  add_half(3, 10, 41);  // the rest of it, whole
  add_half(4, 5, 60);
  add_half(6, 11, 60);  // 30, whole
  stream.peak_reserved = base::Bytes::mib(80);
  const auto asked = find_asked(stream);
  EXPECT_EQ(asked[1], 59 * kMega / 2);
  EXPECT_EQ(asked[4], 59 * kMega / 2);
  EXPECT_EQ(asked[2], 41 * kMega / 2) << "nothing is known of its size";
  stream.peak_reserved = base::Bytes::mib(90);
  EXPECT_EQ(find_asked(stream)[4], 60 * kMega / 2) << "the allocator did something else than is played";
}

}  // namespace
}  // namespace vramfit::plan
