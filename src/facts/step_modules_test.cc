#include <gtest/gtest.h>

#include "facts/job_builder.h"
#include "facts/recordings.h"
#include "facts/testing/recording_script.h"

namespace vramfit::facts {
namespace {

using base::Bytes;

//   forward   a: 100 held, of which 40 are handed on | b: 30 of a workspace, 60 held | loss 5
//   backward  b's 60 go, then a's 100; gradients of 20 and 50
void add_step(RecordingScript& script) {
  script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD, "a");
  const auto inner = script.alloc(60), output = script.alloc(40);
  script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD, "b");
  const auto workspace = script.alloc(30);
  script.free(workspace, 30);
  const auto second = script.alloc(60);
  script.matmul(700, 1, VF_DTYPE_F32);
  script.at(VF_PHASE_TRAIN, VF_STAGE_OTHER);
  const auto loss = script.alloc(5);
  script.at(VF_PHASE_TRAIN, VF_STAGE_BACKWARD);
  const auto gradient = script.alloc(20);
  script.free(second, 60);
  script.free(loss, 5);
  const auto last = script.alloc(50);
  script.free(inner, 60);
  script.free(output, 40);
  script.free(gradient, 20);
  script.free(last, 50);
  script.step();
}

RecordingScript step_of_two(int steps) {
  RecordingScript script;
  for (int step = 0; step < steps; ++step) add_step(script);
  script.note(
      R"({"kind":"module_memory","name":"a","class_name":"A","saved_bytes":104857600,"output_bytes":41943040,"calls":1})");
  script.note(
      R"({"kind":"module_memory","name":"b","class_name":"B","saved_bytes":62914560,"output_bytes":0,"calls":2})");
  return script;
}

TEST(StepModules, tell_what_each_frees_and_how_full_the_card_was_meanwhile) {
  RecordingScript script = step_of_two(2);
  const auto step = find_step_modules(*facts::gather(script.take()), 0);
  ASSERT_TRUE(step);
  ASSERT_EQ(step->modules.size(), 2U);
  const model::StepModule& a = step->modules[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.parent, -1);
  EXPECT_EQ(a.freed, Bytes::mib(60));
  EXPECT_EQ(a.forward_peak, Bytes::mib(100));
  EXPECT_EQ(a.backward_peak, Bytes::mib(170)) << "100 of its own, gradients of 20 and 50";
  const model::StepModule& b = step->modules[1];
  EXPECT_EQ(b.freed, Bytes::mib(60));
  EXPECT_EQ(b.forward_peak, Bytes::mib(160));
  EXPECT_EQ(b.backward_peak, Bytes::mib(185));
  EXPECT_EQ(b.macs, 700);
  EXPECT_FALSE(b.may_repeat) << "it was called twice";
  EXPECT_EQ(step->end_peak, Bytes::mib(165));
  EXPECT_EQ(step->peak, Bytes::mib(185));
}

//   relu   its input of 80 would be gone when it ends, and is kept for the second run
TEST(StepModules, what_a_module_was_given_and_nobody_else_keeps_is_not_freed) {
  RecordingScript script;
  script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD, "norm");
  const auto input = script.alloc(80);
  script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD, "relu");
  const auto output = script.alloc(80);
  script.free(input, 80);
  script.at(VF_PHASE_TRAIN, VF_STAGE_BACKWARD);
  script.alloc(1);
  script.free(output, 80);
  script.step();
  script.note(
      R"({"kind":"module_memory","name":"relu","class_name":"ReLU","saved_bytes":83886080,"output_bytes":83886080,"calls":1})");
  const auto step = find_step_modules(*facts::gather(script.take()), 0);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->modules[0].freed, -Bytes::mib(80));
}

TEST(StepModules, an_evaluation_before_the_step_is_no_part_of_its_forward) {
  RecordingScript script = step_of_two(1);
  for (const char* name : {"a", "b", "a", "b"}) {  // two of its forwards
    script.at(VF_PHASE_VALIDATE, VF_STAGE_FORWARD, name);
    script.free(script.alloc(50), 50);
  }
  add_step(script);
  const auto step = find_step_modules(*facts::gather(script.take()), 0);
  ASSERT_TRUE(step);
  ASSERT_EQ(step->modules.size(), 2U) << "neither runs again after the other";
  EXPECT_EQ(step->modules[0].freed, Bytes::mib(60));
  EXPECT_EQ(step->modules[1].freed, Bytes::mib(60));
}

TEST(StepModules, are_none_before_a_step_has_ended) {
  RecordingScript script = step_of_two(0);
  script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD, "a");
  script.alloc(10);
  EXPECT_FALSE(find_step_modules(*facts::gather(script.take()), 0));
}

}  // namespace
}  // namespace vramfit::facts
