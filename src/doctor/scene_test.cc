#include "doctor/scene.h"

#include <gtest/gtest.h>

namespace vramfit::doctor {
namespace {

model::OomMessage message(int line, std::optional<int> rank, bool numbers) {
  model::OomMessage oom;
  oom.at = {"log", line, "CUDA out of memory"};
  oom.speaker.rank = rank;
  oom.form = numbers ? model::OomForm::kProcessesHint : model::OomForm::kNumberless;
  oom.device = model::OomDevice::kCuda;
  if (numbers) {
    oom.tried = model::exactly(model::Bytes::mib(20));
    oom.total = model::exactly(model::Bytes::gib(8));
  }
  return oom;
}

TEST(Scene, of_several_ranks_the_first_failure_counts) {
  Case given;
  given.texts.ooms = {message(10, 2, true), message(20, 0, true), message(30, 1, true)};
  const Scene scene(given);
  EXPECT_EQ(scene.oom->at.line, 10);
}

TEST(Scene, of_several_failures_of_one_process_the_last_counts) {
  Case given;
  given.texts.ooms = {message(10, std::nullopt, true), message(20, std::nullopt, true)};
  EXPECT_EQ(Scene(given).oom->at.line, 20);
}

TEST(Scene, a_message_with_numbers_is_preferred) {
  Case given;
  given.texts.ooms = {message(10, 0, false), message(20, 1, true)};
  EXPECT_EQ(Scene(given).oom->at.line, 20);
}

TEST(Scene, the_innermost_of_training_and_evaluation_counts) {
  Case given;
  model::Traceback traceback;
  model::TracedException exception;
  exception.first_line = 1;
  exception.last_line = 9;
  exception.type = "torch.OutOfMemoryError";
  exception.frames = {{"train.py", 10, "train", "validate(model)"}, {"train.py", 30, "validate", "out = model(x)"}};
  traceback.at = {"log", 1, ""};
  traceback.exceptions = {exception};
  given.texts.tracebacks = {traceback};
  given.texts.ooms = {message(9, std::nullopt, true)};
  const Scene scene(given);
  EXPECT_TRUE(scene.at.evaluation);
  EXPECT_FALSE(scene.at.training);
}

TEST(Scene, expandable_segments_in_the_environment_are_in_force_and_a_hint_in_the_message_is_not) {
  Case given;
  given.texts.ooms = {message(10, std::nullopt, true)};
  given.texts.ooms[0].hints = {"expandable_segments:True"};
  EXPECT_FALSE(Scene(given).in_force.expandable_segments);
  given.texts.settings = {{{"log", 2, ""}, "PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"}};
  EXPECT_TRUE(Scene(given).in_force.expandable_segments);
}

}  // namespace
}  // namespace vramfit::doctor
