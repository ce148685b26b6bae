#include "plan/stream/player.h"

#include <gtest/gtest.h>

#include "plan/stream/testing/example_stream.h"
#include "plan/techniques/registry.h"
#include "plan/testing/example_job.h"

namespace vramfit::plan {
namespace {

// Each block of the example is a segment of its own: 100, 60, 40, 60, 20, 10; where b's 20 were, a gradient of 20.
model::Job streamed_job(std::int64_t reserved_mib, model::AllocationStream stream = example_stream()) {
  model::Job job = example_job();
  stream.peak_reserved = Bytes::mib(reserved_mib);
  job.streams[""] = std::make_shared<model::AllocationStream>(std::move(stream));
  return job;
}

TEST(StreamPlayer, is_sound_only_where_the_stream_reserves_what_was_recorded) {
  EXPECT_TRUE(StreamPlayer(streamed_job(290)).is_sound());
  const model::Job other = streamed_job(400);
  EXPECT_FALSE(StreamPlayer(other).is_sound());
  const Forecast forecast = start_forecast(other);
  EXPECT_EQ(StreamPlayer(other).play(forecast, forecast), std::nullopt);
  EXPECT_FALSE(StreamPlayer(example_job()).is_sound()) << "it has no stream";
}

TEST(StreamPlayer, plays_what_was_given_where_what_was_asked_for_does_not_come_to_it) {
  model::AllocationStream stream = example_stream();
  stream.blocks.resize(2);  // weights, and a's first
  stream.blocks[0].bytes = Bytes::mib(20).count();
  stream.blocks[1].bytes = Bytes::mib(13).count() - 512;  // segments are of whole 2 MiB
  stream.modules[0].output = Bytes::mib(12);
  EXPECT_TRUE(StreamPlayer(streamed_job(32, stream)).is_sound()) << "of what a handed on";
  EXPECT_TRUE(StreamPlayer(streamed_job(34, stream)).is_sound()) << "of its block";
  EXPECT_FALSE(StreamPlayer(streamed_job(38, stream)).is_sound());
}

TEST(StreamPlayer, tells_what_is_reserved_with_plenty_and_what_the_job_can_do_with) {
  const model::Job job = streamed_job(290);
  const Forecast forecast = start_forecast(job);
  const auto outlook = StreamPlayer(job).play(forecast, forecast);
  ASSERT_TRUE(outlook);
  EXPECT_EQ(outlook->uses, Bytes::mib(290) + job.overhead);
  EXPECT_EQ(outlook->allocated, Bytes::mib(290));
  EXPECT_LE(outlook->needs, outlook->uses);
  EXPECT_GE(outlook->needs, outlook->allocated + job.overhead);
}

TEST(StreamPlayer, what_one_operator_works_in_is_no_part_of_the_least) {
  model::AllocationStream stream = example_stream();
  for (model::StreamBlock& block : stream.blocks) {
    block.born *= 3;
    if (block.died != model::kStreamEnd) block.died *= 3;
  }
  const auto at_peak = [](const model::StreamBlock& block) { return block.born > 15; };
  stream.blocks.insert(std::ranges::find_if(stream.blocks, at_peak),
                       {16, 17, -1, 50 << 20, VF_PHASE_TRAIN, VF_STAGE_BACKWARD, model::BlockOwner::kWorkspaces});
  stream.passes = {{3, 15, 33}};
  const model::Job job = streamed_job(340, stream);
  const Forecast forecast = start_forecast(job);
  const auto outlook = StreamPlayer(job).play(forecast, forecast);
  ASSERT_TRUE(outlook);
  EXPECT_EQ(outlook->allocated, Bytes::mib(340));
  EXPECT_EQ(outlook->least, Bytes::mib(290) + job.overhead);
}

TEST(StreamPlayer, a_repeated_module_lowers_the_peak_by_what_it_keeps) {
  const model::Job job = streamed_job(290);
  Forecast forecast = start_forecast(job);
  const Forecast begun = forecast;
  const model::Change change{"checkpoint", {{"modules", std::vector<std::string>{"a"}}}};
  forecast.repeats = &change;
  const auto outlook = StreamPlayer(job).play(forecast, begun);
  ASSERT_TRUE(outlook);
  EXPECT_EQ(outlook->allocated, Bytes::mib(230)) << "weights, what a handed on, what b holds, b's gradient";
}

TEST(StreamPlayer, a_repeated_module_that_keeps_its_products_holds_them_to_its_backward) {
  model::AllocationStream stream = example_stream();
  stream.blocks[1].product = true;  // a's 60
  const model::Job job = streamed_job(290, stream);
  Forecast forecast = start_forecast(job);
  const Forecast begun = forecast;
  const model::Change change{"checkpoint",
                             {{"modules", std::vector<std::string>{"a"}}, {"keep", std::string("products")}}};
  forecast.repeats = &change;
  const auto outlook = StreamPlayer(job).play(forecast, begun);
  ASSERT_TRUE(outlook);
  EXPECT_EQ(outlook->allocated, Bytes::mib(290)) << "nothing is freed of the peak: what it keeps was all it held";
}

// Its own run shows what comes back twice; where other sizes are saved, the job's own stream is reshaped instead.
TEST(StreamPlayer, activations_in_host_memory_are_played_from_a_run_of_their_own) {
  model::Job job = streamed_job(290);
  model::AllocationStream measured = example_stream();
  measured.blocks[1].died = 2;  // a's 60 go, and come back twice
  measured.blocks.push_back({14, 15, 0, 60 << 20, VF_PHASE_TRAIN, VF_STAGE_BACKWARD, model::BlockOwner::kTemporaries});
  measured.blocks.push_back({16, 17, 0, 60 << 20, VF_PHASE_TRAIN, VF_STAGE_BACKWARD, model::BlockOwner::kTemporaries});
  job.streams["offload_activations"] = std::make_shared<model::AllocationStream>(measured);
  Forecast begun = start_forecast(job);
  begun.offloaded = Bytes::mib(60);
  begun.saved_measured_with = "offload_activations";
  const StreamPlayer player(job);
  const auto lives = player.find_lives(begun, begun);
  ASSERT_TRUE(lives);
  EXPECT_EQ(lives->size(), 9u) << "as in its run, and not offloaded once more";
  Forecast smaller = begun;
  smaller.activation_scale = 0.5;
  const auto reshaped = player.find_lives(smaller, start_forecast(job));
  ASSERT_TRUE(reshaped);
  EXPECT_EQ(reshaped->size(), 11u) << "the job's own seven, of which a's and b's come back";
}

// What is left of 100 beside the 60 that took its place can't serve 44, but for pages that are mapped on behind it.
TEST(StreamPlayer, sees_fragmentation_and_what_expandable_segments_make_of_it) {
  model::AllocationStream stream;
  const auto add = [&](model::StreamTime born, model::StreamTime died, std::int64_t mib) {
    stream.blocks.push_back(
        {born, died, -1, mib << 20, VF_PHASE_TRAIN, VF_STAGE_FORWARD, model::BlockOwner::kActivations});
  };
  add(0, 1, 100);
  add(2, model::kStreamEnd, 60);
  add(3, model::kStreamEnd, 44);
  const model::Job job = streamed_job(144, stream);
  const StreamPlayer player(job);
  ASSERT_TRUE(player.is_sound()) << to_string(player.as_recorded());
  Forecast forecast = start_forecast(job);
  const Forecast begun = forecast;
  const auto now = player.play(forecast, begun);
  forecast.expandable_segments = true;
  const auto expandable = player.play(forecast, begun);
  ASSERT_TRUE(now && expandable);
  EXPECT_EQ(now->allocated, expandable->allocated);
  EXPECT_LT(expandable->needs, now->needs);
}

}  // namespace
}  // namespace vramfit::plan
