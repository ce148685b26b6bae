#include "plan/floor_proof.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/testing/example_job.h"

namespace vramfit::plan {
namespace {

model::Card sold_card(std::string name, std::int64_t mib) {
  model::Card card;
  card.key = card.name = std::move(name);
  card.memory = Bytes::mib(mib);
  card.price_factor = 1;
  card.category = "desktop";
  return card;
}

const model::FloorRemedy* find_remedy(const model::Floor& floor, std::string_view word) {
  const auto found = std::ranges::find_if(
      floor.remedies, [&](const model::FloorRemedy& remedy) { return remedy.text.find(word) != std::string::npos; });
  return found == floor.remedies.end() ? nullptr : &*found;
}

TEST(FloorProof, says_what_each_remedy_takes_off_a_training) {
  const model::Floor floor = prove_floor(example_job(), example_target(), {});  // 100 + 100 + 200, and 300 of context
  const model::FloorRemedy* lora = find_remedy(floor, "LoRA");
  ASSERT_NE(lora, nullptr);
  EXPECT_EQ(lora->frees, Bytes::mib(300));
  EXPECT_EQ(lora->leaves, Bytes::mib(400));
  EXPECT_EQ(find_remedy(floor, "SGD")->frees, Bytes::mib(200));
  EXPECT_EQ(find_remedy(floor, "within backward")->frees, Bytes::mib(90)) << "all but the largest";
  EXPECT_EQ(find_remedy(floor, "8 bits (bitsandbytes)")->frees, Bytes::mib(200) - scaled(Bytes::mib(200), 0.25390625));
  EXPECT_TRUE(std::ranges::is_sorted(floor.remedies, {}, &model::FloorRemedy::frees));
}

TEST(FloorProof, an_evaluation_has_only_weights_to_make_smaller) {
  model::Job job = example_job();
  job.optimizer.reset();
  job.stage_peaks = {example_peak("test", "forward", 300, 0, 0)};
  const model::Floor floor = prove_floor(job, example_target(), {});
  EXPECT_EQ(find_remedy(floor, "LoRA"), nullptr);
  EXPECT_EQ(find_remedy(floor, "8 bits")->frees, Bytes::mib(75));
  EXPECT_EQ(find_remedy(floor, "4 bits")->leaves, Bytes::mib(300) + scaled(Bytes::mib(100), 0.140625));
}

TEST(FloorProof, counts_cards_that_hold_it_in_shards_and_the_smallest_that_holds_it_whole) {
  const model::Job job = example_job();
  const std::vector<model::Card> catalogue = {sold_card("large", 4096), sold_card("right", 1024),
                                              sold_card("tiny", 512)};
  const model::Floor floor = prove_floor(job, example_target(512), catalogue);
  ASSERT_EQ(floor.cards.size(), 2U);
  EXPECT_EQ(floor.cards[0].count, 3) << "400 MiB in shares beside 300 of context, in 90 % of 512";
  EXPECT_EQ(floor.cards[1].card, "right");
  EXPECT_EQ(floor.cards[1].count, 1);
  const model::Floor hopeless = prove_floor(job, example_target(300), {});
  EXPECT_EQ(hopeless.cards.at(0).count, 0) << "its context alone is as large";
}

}  // namespace
}  // namespace vramfit::plan
