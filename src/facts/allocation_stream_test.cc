#include "facts/allocation_stream.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "facts/recordings.h"
#include "facts/testing/recording_script.h"

namespace vramfit::facts {
namespace {

using base::Bytes;
using model::BlockOwner;

TEST(AllocationStream, tells_of_every_block_its_life_its_owner_and_its_module) {
  RecordingScript script;
  script.at(VF_PHASE_LOAD, VF_STAGE_OTHER);
  script.tag(script.alloc(100), VF_OWNER_WEIGHT);
  script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD, "body.0.linear");
  const auto kept = script.alloc(60);
  script.tag(kept, VF_OWNER_ACTIVATION);
  script.at(VF_PHASE_TRAIN, VF_STAGE_BACKWARD);
  const auto gradient = script.alloc(20);
  script.tag(gradient, VF_OWNER_GRADIENT);
  script.free(kept, 60);
  script.free(gradient, 20);
  script.step();
  script.note(
      R"({"kind":"module_memory","name":"body","class_name":"Body","saved_bytes":1,"output_bytes":3,"calls":1})");
  script.note(
      R"({"kind":"module_memory","name":"body.0","class_name":"Layer","saved_bytes":1,"output_bytes":2,"calls":1})");
  const auto stream = find_allocation_stream(*gather(script.take()), 0, "2.12.1");
  ASSERT_TRUE(stream);
  ASSERT_EQ(stream->blocks.size(), 3U);
  EXPECT_EQ(stream->blocks[0].owner, BlockOwner::kWeights);
  EXPECT_EQ(stream->blocks[0].died, model::kStreamEnd);
  const model::StreamBlock& activation = stream->blocks[1];
  EXPECT_EQ(activation.owner, BlockOwner::kActivations);
  EXPECT_EQ(activation.bytes, Bytes::mib(60).count());
  ASSERT_GE(activation.module, 0);
  const auto& module = stream->modules[static_cast<std::size_t>(activation.module)];
  EXPECT_EQ(module.name, "body.0") << "the innermost one that is known";
  EXPECT_EQ(stream->modules[static_cast<std::size_t>(module.parent)].name, "body");
  EXPECT_EQ(stream->blocks[2].owner, BlockOwner::kGradients);
  ASSERT_EQ(stream->passes.size(), 1U);
  EXPECT_LE(stream->passes[0].begin, activation.born);
  EXPECT_LE(stream->passes[0].turn, stream->blocks[2].born);
  EXPECT_GT(stream->passes[0].end, activation.died);
  EXPECT_EQ(stream->torch_version, "2.12.1");
}

// Two steps of 60 MiB, and what `last` does after them.
std::shared_ptr<const model::AllocationStream> stream_of_steps(const std::function<void(RecordingScript&)>& last) {
  RecordingScript script;
  for (int step = 0; step < 2; ++step) {
    script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD);
    const auto kept = script.alloc(60);
    script.at(VF_PHASE_TRAIN, VF_STAGE_BACKWARD);
    script.alloc(1);
    script.free(kept, 60);
    script.step();
  }
  last(script);
  return find_allocation_stream(*gather(script.take()), 0, "2.12.1");
}

TEST(AllocationStream, ends_before_a_forward_that_the_end_of_the_run_cut_off) {
  const auto stream = stream_of_steps([](RecordingScript& script) {
    script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD);
    script.alloc(30);
  });
  ASSERT_TRUE(stream);
  EXPECT_EQ(stream->passes.size(), 2U);
  EXPECT_EQ(stream->blocks.size(), 4U);
}

TEST(AllocationStream, goes_on_where_nothing_before_was_as_high_or_an_evaluation_follows) {
  const auto higher = stream_of_steps([](RecordingScript& script) {
    script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD);
    script.alloc(300);
  });
  EXPECT_EQ(higher->blocks.size(), 5U);
  EXPECT_EQ(higher->passes.size(), 2U);
  const auto evaluated = stream_of_steps([](RecordingScript& script) {
    script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD);
    script.alloc(30);
    script.at(VF_PHASE_VALIDATE, VF_STAGE_FORWARD);
    script.alloc(10);
  });
  EXPECT_EQ(evaluated->blocks.size(), 6U);
}

TEST(AllocationStream, is_not_told_of_a_card_that_nothing_happened_on) {
  RecordingScript script;
  script.at(VF_PHASE_LOAD, VF_STAGE_OTHER);
  script.alloc(1);
  EXPECT_EQ(find_allocation_stream(*gather(script.take()), 3, ""), nullptr);
}

}  // namespace
}  // namespace vramfit::facts
