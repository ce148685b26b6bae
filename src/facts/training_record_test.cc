#include "facts/training_record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>

#include "ingest/testing/add_note.h"
#include "model/recording.h"

namespace vramfit::facts {
namespace {

model::Recording recording_of(std::initializer_list<const char*> notes) {
  model::Recording recording;
  for (const char* text : notes) ingest::testing::add_note(recording, text);
  return recording;
}

TrainingRecord read(const std::vector<model::Recording>& recordings) { return read_training_record(recordings); }

TEST(TrainingRecord, holds_what_the_notes_say) {
  const TrainingRecord record = read({recording_of({
      R"({"kind":"root_module","class_name":"Net","has_batch_norm":true})",
      R"({"kind":"precision","autocast":"bfloat16"})",
      R"({"kind":"training_step","optimizer":1,"step":2,"samples":16,"data":2.5,"weights":-3,"options":[{"lr":0.1}]})",
      R"({"kind":"training_tensor","what":"update","index":"0.3","values":[1,-2.5]})",
      R"({"kind":"training_tensor","what":"state","index":"0.3.exp_avg","values":[7]})",
      R"({"kind":"training_tensor","what":"average","index":"0.w","values":[4]})",
      R"({"kind":"optimizer","class_name":"AdamW"})",
      R"({"kind":"plan_effect","id":"micro_batch","text":"batch norms","what":"batch_statistics"})",
      R"({"kind":"training_end"})",
  })});
  EXPECT_TRUE(record.has_batch_norm);
  EXPECT_EQ(record.autocast, "bfloat16");
  ASSERT_EQ(record.steps.size(), 1U);
  EXPECT_EQ(record.steps[0].number, 2);
  EXPECT_EQ(record.steps[0].samples, 16);
  EXPECT_EQ(record.steps[0].data, 2.5);
  EXPECT_EQ(record.steps[0].groups[0].at("lr"), 0.1);
  EXPECT_EQ(record.weights.at(1), -3);
  EXPECT_EQ(record.updates.at("0.3"), (std::vector<double>{1, -2.5}));
  EXPECT_EQ(record.states.at("0.3.exp_avg"), std::vector<double>{7});
  EXPECT_EQ(record.averages.size(), 1U);
  EXPECT_EQ(record.optimizers, std::vector<std::string>{"AdamW"});
  EXPECT_EQ(record.effects[0].text, "batch norms");
  EXPECT_EQ(record.effects[0].what, model::notes::EffectKind::kBatchStatistics);
  EXPECT_TRUE(record.has_ended);
}

TEST(TrainingRecord, words_in_place_of_numbers_are_no_numbers) {
  const TrainingRecord record = read({recording_of({
      R"({"kind":"training_step","optimizer":0,"step":1})",
      R"({"kind":"training_tensor","what":"gradient","index":"0.0","values":["nan","inf",1]})",
  })});
  EXPECT_TRUE(std::isnan(record.gradients.at("0.0")[0]));
  EXPECT_FALSE(std::isfinite(record.gradients.at("0.0")[1]));
  EXPECT_EQ(record.gradients.at("0.0")[2], 1);
}

TEST(TrainingRecord, is_of_the_first_process_that_took_a_step) {
  const auto idle = recording_of({R"({"kind":"process"})"});
  const auto rank = recording_of({R"({"kind":"training_step","optimizer":0,"step":1,"samples":8})"});
  const auto other = recording_of({R"({"kind":"training_step","optimizer":0,"step":1,"samples":4})"});
  EXPECT_EQ(read({idle, rank, other}).steps[0].samples, 8);
  EXPECT_TRUE(read({idle}).steps.empty());
}

TEST(TrainingRecord, fields_of_other_types_do_no_harm) {
  const TrainingRecord record = read({recording_of({
      R"({"kind":"training_step","optimizer":"x","step":null,"options":[3,{"lr":"high"}],"data":"much"})",
      R"({"kind":"training_tensor","what":"color","index":1,"values":7})",
      R"({"kind":"training_tensor","what":"update"})",
  })});
  EXPECT_EQ(record.steps.size(), 1U);
  ASSERT_EQ(record.steps[0].groups.size(), 1U);
  EXPECT_TRUE(record.steps[0].groups[0].empty());
}

}  // namespace
}  // namespace vramfit::facts
