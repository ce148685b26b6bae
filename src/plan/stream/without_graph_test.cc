#include "plan/stream/without_graph.h"

#include <gtest/gtest.h>

#include <utility>

#include "plan/techniques/registry.h"
#include "plan/testing/example_job.h"

namespace vramfit::plan {
namespace {

using model::BlockOwner;

constexpr std::int64_t kOneMib = 1 << 20;

// A forward of an evaluation whose graph keeps all until event 20:
//   a.conv 60 | a.norm 60, which a hands on | b.conv 30 | b.norm 30, which b hands on | the loss, of the script
model::AllocationStream evaluation_with_graph() {
  model::AllocationStream stream;
  const auto mib = [](std::int64_t count) { return base::Bytes::mib(count); };
  stream.modules = {{"a", -1, mib(60)}, {"a.conv", 0, mib(60)}, {"a.norm", 0, mib(60)},
                    {"b", -1, mib(30)}, {"b.conv", 3, mib(30)}, {"b.norm", 3, mib(30)}};
  const auto add = [&](model::StreamTime born, int module, std::int64_t count, std::uint8_t stage, BlockOwner owner) {
    stream.blocks.push_back({born, 20, module, count * kOneMib, VF_PHASE_VALIDATE, stage, owner});
  };
  add(0, -1, 10, VF_STAGE_INPUT, BlockOwner::kInputs);
  add(1, 1, 60, VF_STAGE_FORWARD, BlockOwner::kActivations);
  add(2, 2, 60, VF_STAGE_FORWARD, BlockOwner::kActivations);
  add(3, 4, 30, VF_STAGE_FORWARD, BlockOwner::kActivations);
  add(4, 5, 30, VF_STAGE_FORWARD, BlockOwner::kActivations);
  add(5, -1, 1, VF_STAGE_FORWARD, BlockOwner::kActivations);
  return stream;
}

std::vector<PlayTime> deaths(const std::vector<Life>& lives) {
  std::vector<PlayTime> found;
  for (const Life& life : lives) found.push_back(life.died);
  return found;
}

Forecast with_no_grad(const model::Job& job) {
  Forecast forecast = start_forecast(job);
  no_grad_validation().predict(job, {}, {"no_grad_validation", {}}, forecast);
  return forecast;
}

TEST(WithoutGraph, what_an_evaluation_kept_goes_with_the_module_around_it) {
  const model::AllocationStream stream = evaluation_with_graph();
  const model::Job job = example_job();
  const auto lives = reshape(stream, find_reshaping(job, with_no_grad(job), start_forecast(job), stream));
  const auto after = [](model::StreamTime event) { return at_event(event) + 1; };
  const PlayTime as_before = at_event(20);
  EXPECT_EQ(deaths(lives), (std::vector<PlayTime>{as_before, after(2), after(4), after(4), as_before, as_before}))
      << "a.conv's with a; a's own result with b; b's own result is the script's, as its loss and its input are";
  EXPECT_EQ(lives[1].bytes, 60 * kOneMib) << "a life is shorter, a block no smaller";
}

// Under no_grad b.conv needed a's result no longer than b.norm's, which is in its place: a keeps it to there.
TEST(WithoutGraph, a_block_goes_when_a_run_under_no_grad_let_it_go) {
  const model::AllocationStream stream = evaluation_with_graph();
  model::AllocationStream shown = stream;
  const model::StreamTime died[] = {20, 3, 4, 5, 6, 20};
  for (std::size_t i = 0; i < shown.blocks.size(); ++i) shown.blocks[i].died = died[i];
  shown.blocks.push_back({10, 20, -1, 10 * kOneMib, VF_PHASE_VALIDATE, VF_STAGE_INPUT, BlockOwner::kInputs});
  const model::Job job = example_job();
  Reshaping reshaping = find_reshaping(job, with_no_grad(job), start_forecast(job), stream);
  reshaping.without_graph = &shown;
  const auto lives = reshape(stream, reshaping);
  const auto before = [](model::StreamTime event) { return at_event(event) - 1; };
  EXPECT_EQ(deaths(lives),
            (std::vector<PlayTime>{at_event(20), before(3), before(4), before(5), before(6), at_event(20)}))
      << "what the script has stays as it was";
}

// Two batches of an evaluation that is written with functions; the graph keeps all until event 40:
//   a batch of 8 | five results of 10, of no module | a batch of 8 | five results of 10
model::AllocationStream evaluation_by_functions() {
  model::AllocationStream stream;
  for (model::StreamTime born = 0; born < 12; ++born) {
    const bool is_batch = born % 6 == 0;
    stream.blocks.push_back({born, 40, -1, (is_batch ? 8 : 10) * kOneMib, VF_PHASE_VALIDATE,
                             is_batch ? std::uint8_t{VF_STAGE_INPUT} : std::uint8_t{VF_STAGE_FORWARD},
                             is_batch ? BlockOwner::kInputs : BlockOwner::kActivations});
  }
  return stream;
}

TEST(WithoutGraph, of_what_no_module_made_the_last_is_taken_to_be_the_scripts) {
  const model::AllocationStream stream = evaluation_by_functions();
  const model::Job job = example_job();
  Forecast forecast = with_no_grad(job);
  const auto found = [&](UnknownEnd unknown_end) {
    forecast.unknown_end = unknown_end;
    return deaths(reshape(stream, find_reshaping(job, forecast, start_forecast(job), stream)));
  };
  const auto after = [](model::StreamTime event) { return at_event(event) + 1; };
  const PlayTime kept = at_event(40);
  EXPECT_EQ(found(UnknownEnd::kGuessed), (std::vector<PlayTime>{after(6), after(4), after(5), kept, kept, kept, kept,
                                                                after(10), after(11), kept, kept, kept}))
      << "a batch goes when the next one comes; a result after three others";
  EXPECT_EQ(found(UnknownEnd::kGoesAtOnce),
            (std::vector<PlayTime>{after(5), after(2), after(3), after(4), after(5), after(5), kept, after(8), after(9),
                                   after(10), after(11), after(11)}));
  EXPECT_EQ(found(UnknownEnd::kStays), std::vector<PlayTime>(12, kept));
}

// The first of three cells of a recurrence hands its state to the second call, not to the last.
TEST(WithoutGraph, of_a_module_that_is_called_often_each_call_lets_go) {
  model::AllocationStream stream;
  stream.modules = {{"cell", -1, base::Bytes::mib(1), 2}};
  for (model::StreamTime born = 0; born < 6; ++born) {
    stream.blocks.push_back({born, 40, 0, (born % 2 == 0 ? 10 : 1) * kOneMib, VF_PHASE_VALIDATE, VF_STAGE_FORWARD,
                             BlockOwner::kActivations});
  }
  const model::Job job = example_job();
  const auto lives = reshape(stream, find_reshaping(job, with_no_grad(job), start_forecast(job), stream));
  const auto after = [](model::StreamTime event) { return at_event(event) + 1; };
  EXPECT_EQ(deaths(lives), (std::vector<PlayTime>{after(1), after(3), after(3), after(5), after(5), at_event(40)}));
}

TEST(WithoutGraph, training_keeps_its_graph) {
  model::AllocationStream stream = evaluation_with_graph();
  for (model::StreamBlock& block : stream.blocks) block.phase = VF_PHASE_TRAIN;
  const model::Job job = example_job();
  const auto lives = reshape(stream, find_reshaping(job, with_no_grad(job), start_forecast(job), stream));
  EXPECT_EQ(deaths(lives), std::vector<PlayTime>(lives.size(), at_event(20)));
}

}  // namespace
}  // namespace vramfit::plan
