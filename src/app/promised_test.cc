#include "app/promised.h"

#include <gtest/gtest.h>

namespace vramfit::app {
namespace {

using model::Change;
using model::Plan;

const Change kParts{"micro_batch", {{"micro_batch", std::int64_t{2}}, {"accumulate", std::int64_t{4}}}};
const Change kCheckpoint{"checkpoint", {{"modules", std::vector<std::string>{"layers.0"}}}};

std::vector<std::string> promised(std::vector<Change> changes, std::vector<std::string> effects = {}) {
  facts::Told told;
  for (const Change& change : changes) told.plan_applied.push_back({change.technique, ""});
  for (std::string& of : effects) told.plan_effects.push_back({std::move(of), "x"});
  return find_promised(Plan{"", std::move(changes)}, told, "p.json");
}

using Sentences = std::vector<std::string>;

TEST(Promised, parts_of_a_batch_train_the_same_as_nothing_has_shown) {
  EXPECT_EQ(
      promised({kParts, kCheckpoint}),
      Sentences{"that it trains the same is promised, not compared here: vramfit verify p.json -- ... compares it"});
}

TEST(Promised, what_is_named_is_not_promised) {
  EXPECT_EQ(promised({kParts}, {"micro_batch"}),
            Sentences{"that it trains the same but for what is named above is promised, not compared here: vramfit "
                      "verify p.json -- ... compares it"});
}

TEST(Promised, training_and_evaluation_each_have_a_sentence) {
  const auto both = promised({Change{"autocast", {}}, Change{"split_evaluation", {}}}, {"split_evaluation"});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_TRUE(both[0].starts_with("that it trains the same, in fewer bits, is promised")) << both[0];
  EXPECT_TRUE(both[1].starts_with("that evaluations put out the same but for what is named above is promised"));
}

TEST(Promised, what_no_comparison_shows_is_not_sent_to_one) {
  EXPECT_EQ(promised({Change{"memory_budget", {{"budget", 0.5}}}}),
            Sentences{"that it trains the same is promised, not compared here: what torch.compile makes computes no "
                      "values without a card"});
}

TEST(Promised, nothing_is_said_of_what_is_exact_or_another_training_on_purpose) {
  EXPECT_EQ(promised({kCheckpoint}), Sentences{});
  EXPECT_EQ(promised({Change{"lora", {}}}), Sentences{});
  EXPECT_EQ(promised({Change{"optimizer", {{"name", std::string("SGD")}}}}), Sentences{});
  EXPECT_EQ(promised({Change{"optimizer", {{"name", std::string("bitsandbytes.optim.AdamW8bit")}}}}).size(), 1u);
}

TEST(Promised, a_technique_that_was_not_applied_promises_nothing) {
  EXPECT_EQ(find_promised(Plan{"", {kParts}}, facts::Told{}, "p.json"), Sentences{});
}

}  // namespace
}  // namespace vramfit::app
