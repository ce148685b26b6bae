#include "plan/several_cards.h"

#include <gtest/gtest.h>

#include "plan/testing/example_job.h"

namespace vramfit::plan {
namespace {

bool tells(const std::string& sentence, std::string_view part) { return sentence.find(part) != std::string::npos; }

TEST(SeveralCards, are_of_no_interest_where_one_does) {
  EXPECT_TRUE(advise_several_cards(example_job(), example_target(8192)).empty());
}

// Forward is the fullest moment: 100 MiB of weights, 200 of state, 20 of inputs, 2600 of activations, beside 300 of
// context, 37 of the communicator and a fifth of the cache, which shrinks with the rest.
TEST(SeveralCards, each_hold_what_each_way_of_sharing_leaves_them) {
  const auto advice = advise_several_cards(example_job(), example_target(2048));
  ASSERT_EQ(advice.size(), 4U);
  EXPECT_TRUE(tells(advice[0],
                    "2 such cards, each with all of the network and 1/2 of the batch "
                    "(DistributedDataParallel): 2.01 GiB (does not fit) each"))
      << advice[0];
  EXPECT_TRUE(tells(advice[0], "buckets for gradients add 100 MiB")) << advice[0];
  EXPECT_TRUE(tells(advice[1],
                    "optimizer state 1955 MiB (fits) each, gradients too 1855 MiB (fits), weights too "
                    "1815 MiB (fits)"))
      << advice[1];
  EXPECT_TRUE(tells(advice[2], "from 1805 MiB (fits) each")) << advice[2];
  EXPECT_TRUE(tells(advice[2], "to 3.05 GiB (does not fit) where none are")) << advice[2];
  EXPECT_TRUE(tells(advice[3],
                    "2 even stages (pipeline, GPipe): 1805 MiB (fits) each; with 8 micro-batches a card "
                    "waits for 11 % of a step, (2 - 1) / (8 + 2 - 1)"))
      << advice[3];
}

TEST(SeveralCards, are_as_many_as_shards_need_and_eight_at_most) {
  EXPECT_TRUE(tells(advise_several_cards(example_job(), example_target(1200)).front(), "4 such cards"));
  EXPECT_TRUE(tells(advise_several_cards(example_job(), example_target(400)).front(), "8 such cards"));
  model::Job job = example_job();
  job.loaders[0].batch_size = 2;
  EXPECT_TRUE(tells(advise_several_cards(job, example_target(400)).front(), "a batch of 2 is too small to split so"));
}

TEST(SeveralCards, share_an_evaluation_alone_as_copies_or_as_stages) {
  model::Job job = example_job();
  job.optimizer.reset();
  job.phases = {{"test", Bytes::mib(1500), Bytes::mib(1500), Bytes::mib(1800), 3}};
  job.stage_peaks = {example_peak("test", "forward", 1180, 0, 0)};
  job.stage_peaks[0].holdings.optimizer = Bytes(0);
  job.stage_peaks[0].holdings.weights = Bytes::mib(300);
  const auto advice = advise_several_cards(job, example_target(1024));
  ASSERT_EQ(advice.size(), 1U);
  EXPECT_TRUE(tells(advice[0], "distributed inference on 4 such cards")) << advice[0];
  EXPECT_TRUE(tells(advice[0], "1/4 of the batch, 937 MiB (fits) each")) << advice[0];
  EXPECT_TRUE(tells(advice[0], "at a time, 712 MiB (fits) each")) << advice[0];
}

}  // namespace
}  // namespace vramfit::plan
