#include "plan/stream/reshape.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/stream/testing/example_stream.h"
#include "plan/techniques/registry.h"
#include "plan/testing/example_job.h"

namespace vramfit::plan {
namespace {

using model::BlockOwner;

constexpr std::int64_t kMib = 1 << 20;

// Bytes that live just after an event, and just before it.
std::int64_t level_at(const std::vector<Life>& lives, PlayTime moment) {
  std::int64_t level = 0;
  for (const Life& life : lives) level += life.born <= moment && moment < life.died ? life.bytes : 0;
  return level / kMib;
}
std::int64_t highest(const std::vector<Life>& lives, model::StreamTime from, model::StreamTime to) {
  std::int64_t most = 0;
  for (const Life& life : lives) {
    const bool is_between = life.born >= PlayTime{from} << 32 && life.born < PlayTime{to} << 32;
    if (is_between) most = std::max(most, level_at(lives, life.born));
  }
  return most;
}

Reshaping nothing() {
  Reshaping reshaping;
  for (auto& phase : reshaping.shares) {
    for (auto& stage : phase) stage.fill(1);
  }
  return reshaping;
}

TEST(Reshape, leaves_a_stream_without_a_plan_as_it_was) {
  const model::AllocationStream stream = example_stream();
  const auto lives = reshape(stream, nothing());
  ASSERT_EQ(lives.size(), stream.blocks.size());
  for (std::size_t i = 0; i < lives.size(); ++i) {
    EXPECT_EQ(lives[i].born, at_event(stream.blocks[i].born));
    EXPECT_EQ(lives[i].bytes, stream.blocks[i].bytes);
  }
}

TEST(Reshape, scales_each_owner_by_what_the_forecast_makes_of_it_at_that_moment) {
  const model::AllocationStream stream = example_stream();
  const model::Job job = example_job();
  Forecast forecast = start_forecast(job);
  scale_batch(forecast, "train", 0.25);
  const auto lives = reshape(stream, find_reshaping(job, forecast, start_forecast(job), stream));
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const bool is_smaller = stream.blocks[i].owner == BlockOwner::kActivations;
    EXPECT_EQ(lives[i].bytes, is_smaller ? stream.blocks[i].bytes / 4 : stream.blocks[i].bytes) << i;
  }
}

// A script moves a batch to the card before its model is told to evaluate.
TEST(Reshape, a_batch_of_an_evaluation_is_no_smaller_for_smaller_batches_of_training) {
  model::AllocationStream stream = example_stream();
  stream.blocks.push_back({14, 17, -1, 8 * kMib, VF_PHASE_TRAIN, VF_STAGE_INPUT, BlockOwner::kInputs});
  stream.blocks.push_back({15, 16, 0, 40 * kMib, VF_PHASE_VALIDATE, VF_STAGE_FORWARD, BlockOwner::kActivations});
  Reshaping reshaping = nothing();
  for (auto& stage : reshaping.shares[VF_PHASE_TRAIN]) stage[static_cast<std::size_t>(BlockOwner::kInputs)] = 0.25;
  EXPECT_EQ(reshape(stream, reshaping)[stream.blocks.size() - 2].bytes, 8 * kMib);
  stream.blocks.back().phase = VF_PHASE_TRAIN;
  EXPECT_EQ(reshape(stream, reshaping)[stream.blocks.size() - 2].bytes, 2 * kMib);
}

TEST(Reshape, counts_no_change_twice_that_the_recorded_run_had_already) {
  const model::AllocationStream stream = example_stream();
  const model::Job job = example_job();
  Forecast halved = start_forecast(job);
  scale_batch(halved, "train", 0.5);
  const auto lives = reshape(stream, find_reshaping(job, halved, halved, stream));
  EXPECT_EQ(lives, reshape(stream, nothing()));
}

// a: 60 kept and 40 handed on | b: 60 kept, 20 handed on
TEST(Reshape, what_a_repeated_module_kept_goes_with_its_forward_and_is_made_anew_before_its_backward) {
  const model::AllocationStream stream = example_stream();
  Reshaping reshaping = nothing();
  const auto& pass = stream.passes.front();
  const auto before = reshape(stream, reshaping);
  ASSERT_EQ(level_at(before, at_event(pass.turn) - 1), 100 + 180);
  reshaping.repeated = {0};
  const auto lives = reshape(stream, reshaping);
  EXPECT_EQ(level_at(lives, at_event(pass.turn) - 1), 100 + 120) << "a's own 60 are gone, what it handed on is not";
  EXPECT_EQ(highest(lives, 0, pass.turn), highest(before, 0, pass.turn) - 60);
  EXPECT_EQ(level_at(lives, at_event(pass.end)), level_at(before, at_event(pass.end))) << "all is freed as before";
  const auto again = std::ranges::count_if(lives, [&](const Life& life) {
    return life.born > at_event(pass.turn) && life.born < at_event(pass.end) && life.bytes == 60 * kMib;
  });
  EXPECT_EQ(again, 1);
}

// The allocator leaves a rest of up to 1 MiB with a block; batch norm's statistics are made after what it returns.
TEST(Reshape, what_a_repeated_module_handed_on_stays_however_its_block_is_rounded) {
  model::AllocationStream stream = example_stream();
  const auto handed_on = std::ranges::find(stream.blocks, 40 * kMib, &model::StreamBlock::bytes);
  ASSERT_NE(handed_on, stream.blocks.end());
  handed_on->bytes += kMib - 512;
  model::StreamBlock statistics = *handed_on;
  statistics.bytes = 512;
  stream.blocks.insert(handed_on + 1, statistics);
  Reshaping reshaping = nothing();
  reshaping.repeated = {0};
  const auto& pass = stream.passes.front();
  const auto lives = reshape(stream, reshaping);
  EXPECT_EQ(level_at(lives, at_event(pass.turn) - 1), 100 + 120);
}

// PyTorch ends the second run once all is there again that was saved.
// A backbone returns features of several stages: 10 of an early one, 20 of the last, and 10 between are its own.
model::AllocationStream features() {
  model::AllocationStream stream;
  stream.modules = {{"backbone", -1, base::Bytes::mib(30)}, {"head", -1, base::Bytes()}};
  const auto add = [&](model::StreamTime born, model::StreamTime died, int module, std::int64_t mib,
                       std::uint8_t phase) {
    stream.blocks.push_back({born, died, module, mib * kMib, phase, VF_STAGE_FORWARD, BlockOwner::kActivations});
  };
  add(1, 11, 0, 10, VF_PHASE_TRAIN);
  add(2, 10, 0, 10, VF_PHASE_TRAIN);
  add(3, 9, 0, 20, VF_PHASE_TRAIN);
  add(4, 8, 1, 40, VF_PHASE_TRAIN);
  add(5, 7, 1, 40, VF_PHASE_TRAIN);
  stream.passes = {{1, 6, 12}};
  add(20, 26, 0, 20, VF_PHASE_VALIDATE);
  add(21, 23, 0, 20, VF_PHASE_VALIDATE);
  add(22, 25, 0, 40, VF_PHASE_VALIDATE);
  add(24, 29, 1, 80, VF_PHASE_VALIDATE);
  add(28, 30, 1, 80, VF_PHASE_VALIDATE);
  return stream;
}

TEST(Reshape, what_outlives_a_repeated_module_without_a_graph_is_what_it_returned) {
  Reshaping reshaping = nothing();
  reshaping.repeated = {0};
  const auto lives = reshape(features(), reshaping);
  EXPECT_EQ(lives[0].died, at_event(11)) << "an early feature is held for its backward";
  EXPECT_LT(lives[1].died, at_event(6)) << "of the same size, but the backbone's own";
  EXPECT_EQ(lives[2].died, at_event(9));
}

TEST(Reshape, what_a_repeated_module_returned_is_the_last_of_its_bytes_where_nothing_shows_it) {
  model::AllocationStream stream = features();
  stream.blocks.resize(5);  // no evaluation
  Reshaping reshaping = nothing();
  reshaping.repeated = {0};
  const auto lives = reshape(stream, reshaping);
  EXPECT_LT(lives[0].died, at_event(6));
  EXPECT_EQ(lives[1].died, at_event(10));
  EXPECT_EQ(lives[2].died, at_event(9));
}

TEST(Reshape, what_a_repeated_module_saves_nothing_for_is_not_made_again) {
  model::AllocationStream stream = example_stream();
  Reshaping reshaping = nothing();
  reshaping.repeated = {0};
  const auto count = [&] { return std::ranges::count(reshape(stream, reshaping), 40 * kMib, &Life::bytes); };
  EXPECT_EQ(count(), 1) << "a adds up what it hands on, and saves nothing for that";
  stream.blocks.insert(stream.blocks.begin() + 3, stream.blocks[2]);  // statistics, made beside what is handed on
  stream.blocks[3].bytes = 512;
  EXPECT_EQ(count(), 2) << "a normalises last: what it saves comes with what it hands on";
}

TEST(Reshape, a_module_in_a_repeated_one_is_repeated_within_its_second_run) {
  model::AllocationStream stream = example_stream();
  stream.modules.push_back({"a.inner", 0, {}});
  stream.blocks[1].module = 2;  // a's 60
  Reshaping reshaping = nothing();
  reshaping.repeated = {0, 2};
  const auto lives = reshape(stream, reshaping);
  const auto times = std::ranges::count_if(lives, [](const Life& life) { return life.bytes == 60 * kMib; });
  EXPECT_EQ(times, 4) << "b's, and a's three times: forward, again for a, again for what is in it";
}

TEST(Reshape, offloaded_blocks_are_away_between_their_forward_and_their_backward) {
  const model::AllocationStream stream = example_stream();
  Reshaping reshaping = nothing();
  reshaping.offloads = true;
  const auto lives = reshape(stream, reshaping);
  const auto& pass = stream.passes.front();
  EXPECT_LT(level_at(lives, at_event(pass.turn)), level_at(reshape(stream, nothing()), at_event(pass.turn)));
  EXPECT_EQ(level_at(lives, at_event(pass.end)), 100 + 30) << "weights and the gradients";
}

TEST(Reshape, offloaded_blocks_come_back_once_what_the_operators_before_theirs_saved_is_gone) {
  model::AllocationStream stream = example_stream();
  // First come b's, which goes first: 3..6 and 4..7; then gradients at 8; then a's, which went at 9 and 10.
  Reshaping reshaping = nothing();
  reshaping.offloads = true;
  const auto lives = reshape(stream, reshaping);
  std::vector<Life> back;
  for (const Life& life : lives) {
    const bool is_back =
        life.born >= at_event(stream.passes.front().turn) - 1 && life.bytes != 10 * kMib && life.born != at_event(8);
    if (is_back) back.push_back(life);
  }
  ASSERT_EQ(back.size(), 4U);
  for (const Life& life : back) {
    const bool is_of_a = life.died >= at_event(9);
    EXPECT_EQ(life.born, is_of_a ? at_event(8) - 1 : at_event(5) + 2) << life.bytes / kMib;
  }
}

TEST(Reshape, what_the_root_makes_between_its_modules_is_offloaded_and_the_loss_is_not) {
  model::AllocationStream stream = example_stream();
  stream.blocks[1].module = -1;  // a sum or cat of the root's forward
  stream.blocks[4].module = -1;  // after the last module: the script's
  Reshaping reshaping = nothing();
  reshaping.offloads = true;
  const auto lives = reshape(stream, reshaping);
  EXPECT_LT(lives[1].died, at_event(9)) << "away";
  EXPECT_EQ(lives[4].died, at_event(7));
}

TEST(Reshape, a_batch_that_only_the_graph_holds_is_away_behind_the_forward) {
  model::AllocationStream stream = example_stream();
  stream.blocks.insert(stream.blocks.begin() + 1,
                       {0, 10, -1, 8 * kMib, VF_PHASE_TRAIN, VF_STAGE_INPUT, BlockOwner::kInputs});
  Reshaping reshaping = nothing();
  reshaping.offloads = true;
  EXPECT_EQ(reshape(stream, reshaping)[1].died, at_event(4) + 1) << "with b, which ends the network's call";
  stream.blocks[1].died = 12;
  EXPECT_EQ(reshape(stream, reshaping)[1].died, at_event(12)) << "the script holds it";
}

TEST(Reshape, state_that_waits_elsewhere_goes_with_the_step_that_made_it) {
  model::AllocationStream stream = example_stream();
  const model::StreamTime end = stream.blocks.back().born;
  auto state = stream.blocks.back(), later = state;
  state.born = end + 10, state.died = model::kStreamEnd;
  state.stage = VF_STAGE_OPTIMIZER, state.owner = BlockOwner::kOptimizer;
  later.born = end + 20, later.died = model::kStreamEnd;
  later.stage = VF_STAGE_FORWARD;
  stream.blocks.insert(stream.blocks.end(), {state, later});
  const auto find_end = [&](const Reshaping& reshaping) {
    const auto lives = reshape(stream, reshaping);
    const auto of_state = std::ranges::find(lives, at_event(end + 10), &Life::born);
    return of_state == lives.end() ? PlayTime{0} : of_state->died;
  };
  Reshaping reshaping = nothing();
  EXPECT_EQ(find_end(reshaping), kNeverFreed);
  reshaping.state_at_once = reshaping.parameters_at_once = state.bytes;
  EXPECT_EQ(find_end(reshaping), at_event(end + 20) - 1);
}

TEST(Reshape, state_that_waits_elsewhere_comes_in_turns) {
  model::AllocationStream stream = example_stream();
  const model::StreamTime first = stream.blocks.back().born + 10;
  for (const model::StreamTime at : {0U, 1U, 2U}) {
    auto state = stream.blocks.back();
    state.born = first + at, state.died = model::kStreamEnd, state.bytes = 10 * kMib;
    state.stage = VF_STAGE_OPTIMIZER, state.owner = BlockOwner::kOptimizer;
    stream.blocks.push_back(state);
  }
  stream.passes.push_back({first + 10, first + 11, first + 20});
  Reshaping reshaping = nothing();
  reshaping.state_at_once = reshaping.parameters_at_once = 20 * kMib;
  const auto lives = reshape(stream, reshaping);
  EXPECT_EQ(lives[7].died, at_event(first + 2) - 1) << "two at once";
  EXPECT_EQ(lives[8].died, at_event(first + 2) - 1);
  EXPECT_EQ(lives[9].died, kNeverFreed) << "nothing comes after it";
  ASSERT_EQ(lives.size(), 13U) << "in the second step all of them again";
  EXPECT_EQ(lives[10].born, lives[11].born);
  EXPECT_LT(lives[11].died, lives[12].born);
}

TEST(Reshape, what_an_update_works_in_is_there_with_the_state_of_its_turn) {
  model::AllocationStream stream = example_stream();
  const model::StreamTime first = stream.blocks.back().born + 10;
  auto block = stream.blocks.back();
  block.phase = VF_PHASE_TRAIN, block.stage = VF_STAGE_OPTIMIZER;
  for (const model::StreamTime at : {0U, 1U}) {
    block.born = first + at, block.died = model::kStreamEnd, block.bytes = (at == 0 ? 20 : 10) * kMib;
    block.owner = BlockOwner::kOptimizer;
    stream.blocks.push_back(block);
  }
  block.born = first + 2, block.died = first + 3, block.bytes = 8 * kMib, block.owner = BlockOwner::kTemporaries;
  stream.blocks.push_back(block);
  stream.passes.push_back({first + 10, first + 11, first + 20});
  Reshaping reshaping = nothing();
  reshaping.state_at_once = reshaping.parameters_at_once = 20 * kMib;
  const auto lives = reshape(stream, reshaping);
  ASSERT_EQ(lives.size(), 14U);
  EXPECT_EQ(lives[11].bytes, 8 * kMib) << "of the largest turn, in the second step";
  EXPECT_EQ(lives[11].born, lives[10].born);
  EXPECT_EQ(lives[13].bytes, 4 * kMib) << "of half as much state";
  EXPECT_EQ(lives[13].born, lives[12].born);
}

// A turn ends before the parameter that it has no room for; what updates work in is of whole parameters, too.
TEST(Reshape, state_that_waits_elsewhere_comes_by_whole_parameters) {
  model::AllocationStream stream = example_stream();
  const model::StreamTime first = stream.blocks.back().born + 10;
  for (model::StreamBlock& block : stream.blocks) {
    if (block.owner == BlockOwner::kGradients) block.died = model::kStreamEnd;
  }
  auto block = stream.blocks.back();
  block.stage = VF_STAGE_OPTIMIZER, block.owner = BlockOwner::kOptimizer;
  for (const model::StreamTime at : {0U, 1U, 2U, 3U}) {  // two moments of each of the two that have a gradient
    block.born = first + at, block.bytes = (at < 2 ? 10 : 20) * kMib;
    stream.blocks.push_back(block);
  }
  block.born = first + 4, block.died = first + 5, block.bytes = 8 * kMib, block.owner = BlockOwner::kTemporaries;
  stream.blocks.push_back(block);
  Reshaping reshaping = nothing();
  reshaping.state_at_once = 50 * kMib;
  reshaping.parameters_at_once = 25 * kMib;
  const auto lives = reshape(stream, reshaping);
  EXPECT_EQ(lives[7].died, at_event(first + 2) - 1);
  EXPECT_EQ(lives[8].died, at_event(first + 2) - 1) << "30 MiB of parameters are more than a turn takes";
  EXPECT_EQ(lives[10].died, kNeverFreed) << "nothing comes after it";
  EXPECT_EQ(lives[11].bytes, 8 * kMib * 40 / 50) << "of 40 MiB of state at once";
}

TEST(Reshape, the_weights_are_not_halved_again_of_a_run_that_had_them_in_half) {
  Forecast halved = start_forecast(example_job());
  halved.later_weights = 0.5;
  EXPECT_EQ(find_reshaping(example_job(), halved, halved, example_stream()).later_weights, 1);
  EXPECT_EQ(find_reshaping(example_job(), halved, start_forecast(example_job()), example_stream()).later_weights, 0.5);
}

TEST(Reshape, gradients_that_are_added_up_are_of_what_is_trained) {
  Forecast forecast = start_forecast(example_job());
  forecast.accumulates = true;
  forecast.gradient_share = 0.25;
  const auto reshaping = find_reshaping(example_job(), forecast, start_forecast(example_job()), example_stream());
  constexpr auto kGradients = static_cast<std::size_t>(model::BlockOwner::kGradients);
  EXPECT_EQ(reshaping.shares[VF_PHASE_TRAIN][VF_STAGE_BACKWARD][kGradients], 0.25);
}

TEST(Reshape, weights_are_whole_until_the_first_step) {
  model::AllocationStream stream = example_stream();
  for (auto& pass : stream.passes) pass.begin = 1;
  Reshaping reshaping = nothing();
  reshaping.later_weights = 0.5;
  const auto lives = reshape(stream, reshaping);
  EXPECT_EQ(level_at(lives, at_event(0)), 100);
  EXPECT_EQ(level_at(lives, at_event(stream.blocks.back().died) + 1), 50);
}

TEST(Reshape, gradients_are_there_for_the_next_micro_batch_and_go_where_they_are_released) {
  const model::AllocationStream stream = example_stream();
  Reshaping reshaping = nothing();
  const std::int64_t once = highest(reshape(stream, reshaping), 0, stream.passes.front().end);
  reshaping.micro_batches = 2;
  EXPECT_EQ(highest(reshape(stream, reshaping), 0, stream.passes.front().end), once + 10 + 20)
      << "the second one's forward finds the first one's gradients";
  reshaping.releases_gradients = true;
  EXPECT_EQ(level_at(reshape(stream, reshaping), at_event(stream.passes.front().end)), 100);
}

TEST(Reshape, what_a_network_in_parts_puts_out_stays_whole_and_nothing_else_of_its_size) {
  Reshaping reshaping = nothing();
  reshaping.shares[VF_PHASE_TRAIN][VF_STAGE_FORWARD][static_cast<std::size_t>(BlockOwner::kActivations)] = 0.5;
  reshaping.whole = 40 * kMib;
  model::AllocationStream stream = example_stream();
  stream.blocks[4].bytes = 40 * kMib;  // as b puts out, so does a
  const auto lives = reshape(stream, reshaping);
  EXPECT_EQ(lives[2].bytes, 20 * kMib);
  EXPECT_EQ(lives[4].bytes, 40 * kMib);
  stream.blocks[4].module = -1;  // made of what a puts out, in no module
  EXPECT_EQ(reshape(stream, reshaping)[2].bytes, 40 * kMib);
  EXPECT_EQ(reshape(stream, reshaping)[4].bytes, 40 * kMib);
}

// Gradients of 10 (of b) at 5 and of 20 (of a) at 8; the step after them makes state of 20 and 20, 10 and 10.
TEST(Reshape, state_is_made_where_its_gradient_is_released) {
  model::AllocationStream stream = example_stream();
  for (const auto& [born, mib] : {std::pair(20, 20), {21, 20}, {22, 10}, {23, 10}}) {
    stream.blocks.push_back({static_cast<model::StreamTime>(born), model::kStreamEnd, -1, mib << 20, VF_PHASE_TRAIN,
                             VF_STAGE_OPTIMIZER, model::BlockOwner::kOptimizer});
  }
  Reshaping reshaping = nothing();
  reshaping.releases_gradients = true;
  const auto lives = reshape(stream, reshaping);
  ASSERT_EQ(lives.size(), 11u);
  for (const std::size_t of_b : {9u, 10u}) EXPECT_EQ(lives[of_b].born >> 32, 5u) << of_b;
  for (const std::size_t of_a : {7u, 8u}) EXPECT_EQ(lives[of_a].born >> 32, 8u) << of_a;
  EXPECT_GE(lives[5].died, lives[10].born) << "a gradient goes when its weight was updated";
  EXPECT_GE(lives[5].died, lives[9].born);
}

}  // namespace
}  // namespace vramfit::plan
