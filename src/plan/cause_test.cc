#include "plan/cause.h"

#include <gtest/gtest.h>

#include "plan/testing/example_job.h"

namespace vramfit::plan {
namespace {

model::Job gathering_job() {
  model::Job job = example_job();
  job.gathered = model::GatheredFacts{"validate", "kept", "train.py:9 in test", Bytes::mib(200), 10, false};
  job.phases[1].peak_allocated = Bytes::mib(2600);
  return job;
}

TEST(Cause, a_job_without_a_fault_of_its_own_has_none) { EXPECT_FALSE(find_cause(example_job(), Bytes::mib(100))); }

TEST(Cause, what_an_evaluation_gathers_is_told_with_its_line) {
  const auto cause = find_cause(gathering_job(), Bytes::mib(2048));
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->text,
            "phase validate keeps `kept` on the card: 200 MiB more with every batch, 2000 MiB after 10 batches");
  EXPECT_EQ(cause->line, "train.py:9 in test");
}

TEST(Cause, gathering_that_fits_the_card_is_none) { EXPECT_FALSE(find_cause(gathering_job(), Bytes::gib(4))); }

TEST(Cause, what_training_left_behind_is_one_when_it_is_much) {
  model::Job job = example_job();
  job.phases[1].peak_allocated = Bytes::mib(2600);
  job.kept_from_training = model::KeptTrainingTensors{"validate", "train.py:7 in step", Bytes::mib(30)};
  EXPECT_FALSE(find_cause(job, Bytes::mib(2048))) << "a batch of inputs lives on in any script";
  job.kept_from_training->bytes = Bytes::mib(900);
  const auto cause = find_cause(job, Bytes::mib(2048));
  ASSERT_TRUE(cause);
  EXPECT_FALSE(cause->is_all);
  EXPECT_EQ(cause->text, "phase validate runs while 900 MiB of the last training steps are still on the card");
}

TEST(Cause, gradients_in_an_evaluation_that_runs_out_are_one) {
  model::Job job = example_job();
  job.validates_with_gradients = true;
  EXPECT_FALSE(find_cause(job, Bytes::mib(2048))) << "evaluation needs less";
  job.phases[1].peak_allocated = Bytes::mib(2600);
  const auto cause = find_cause(job, Bytes::mib(2048));
  ASSERT_TRUE(cause);
  EXPECT_NE(cause->remedy.find("no_grad"), std::string::npos);
}

}  // namespace
}  // namespace vramfit::plan
