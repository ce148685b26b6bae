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

TEST(Cause, graphs_of_an_evaluation_want_no_grad_rather_than_another_place) {
  model::Job job = gathering_job();
  job.gathered->keeps_graphs = true;
  const auto cause = find_cause(job, Bytes::mib(2048));
  ASSERT_TRUE(cause);
  EXPECT_NE(cause->text.find("with the graph of each forward"), std::string::npos);
  EXPECT_NE(cause->remedy.find("no_grad"), std::string::npos);
}

TEST(Cause, kept_graphs_of_training_are_all_of_it_where_a_step_without_them_fits) {
  model::Job job = example_job();
  job.phases[0].peak_allocated = Bytes::mib(2600);
  job.kept_graphs = model::KeptGraphs{"losses", "train.py:21 in train", Bytes::mib(160), Bytes::mib(700)};
  EXPECT_FALSE(find_cause(job, Bytes::gib(4))) << "it fits with them";
  auto cause = find_cause(job, Bytes::mib(2048));
  ASSERT_TRUE(cause);
  EXPECT_TRUE(cause->is_all);
  EXPECT_EQ(cause->line, "train.py:21 in train");
  EXPECT_EQ(cause->text,
            "`losses` keeps the graph of every training step: 160 MiB more with each; a step without them takes about "
            "700 MiB");
  job.kept_graphs->needs_without = Bytes::mib(2000);
  cause = find_cause(job, Bytes::mib(2048));
  ASSERT_TRUE(cause);
  EXPECT_FALSE(cause->is_all) << "the step alone may be too large for the card";
  job.kept_graphs->needs_without = {};
  EXPECT_FALSE(find_cause(job, Bytes::mib(2048))->is_all) << "what a step takes was not seen";
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
