#include "plan/promise.h"

#include <gtest/gtest.h>

#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

using model::Change;
using model::Sameness;

Change micro_batch_of(std::int64_t size, std::int64_t accumulate) {
  return {"micro_batch", {{"micro_batch", size}, {"accumulate", accumulate}}};
}
const Change kCheckpoint{"checkpoint", {{"modules", std::vector<std::string>{"layers.0"}}}};

TEST(Promise, what_is_exact_by_the_way_it_is_made_needs_no_comparison) {
  for (const char* technique :
       {"checkpoint", "offload_activations", "allocator", "empty_cache", "gather_on_cpu", "no_grad_validation"}) {
    EXPECT_TRUE(find_promise(Change{technique, {}}).exact) << technique;
  }
  EXPECT_FALSE(find_promise(micro_batch_of(4, 2)).exact);
  EXPECT_FALSE(find_promise(Change{"autocast", {}}).exact);
  EXPECT_FALSE(find_promise(Change{"one of tomorrow", {}}).exact) << "nothing is known of it";
}

TEST(Promise, gradients_set_to_none_train_the_same_unless_the_script_looks_at_them) {
  const Promise promise = find_promise(Change{"zero_grad_set_to_none", {}});
  EXPECT_EQ(promise.at_most, Sameness::kEqual);
  EXPECT_FALSE(promise.exact) << "so it is compared";
}

TEST(Promise, offloaded_state_is_the_same_and_compared) {
  const Promise promise = find_promise(Change{"offload_optimizer", {}});
  EXPECT_EQ(promise.at_most, Sameness::kEqual);
  EXPECT_FALSE(promise.exact) << "a script may look for it";
}

TEST(Promise, offloaded_weights_put_out_the_same_and_are_compared) {
  const Promise promise = find_promise(Change{"offload_weights", {}});
  EXPECT_EQ(promise.at_most, Sameness::kEqual);
  EXPECT_GT(promise.outputs, 0) << "a forward may write to them";
}

TEST(Promise, released_gradients_train_the_same_and_are_not_there_to_be_compared) {
  const Promise promise = find_promise(Change{"release_gradients", {}});
  EXPECT_EQ(promise.at_most, Sameness::kEqual);
  EXPECT_FALSE(promise.exact);
  EXPECT_TRUE(promise.rescales_gradients);
}

TEST(Promise, half_types_promise_what_their_bits_can_hold) {
  const Change fp16{"autocast", {{"dtype", std::string("float16")}}};
  EXPECT_EQ(find_promise(fp16).share, kFp16Share);
  EXPECT_EQ(find_promise(Change{"autocast", {}}).share, kBf16Share) << "the type that is taken when none is named";
}

TEST(Promise, half_evaluation_leaves_the_training_and_rounds_outputs) {
  const Promise promise = find_promise(Change{"half_evaluation", {{"dtype", std::string("float16")}}});
  EXPECT_EQ(promise.outputs, kFp16Share);
  EXPECT_EQ(promise.share, kRoundingShare) << "of the training";
  EXPECT_FALSE(promise.exact);
  EXPECT_EQ(find_promise(Change{"autocast", {}}).outputs, 0);
}

TEST(Promise, tiles_put_out_the_same_but_for_the_order_of_sums) {
  const Change tiles{"tiles", {{"per_side", std::int64_t{4}}}};
  EXPECT_EQ(find_promise(tiles).outputs, kRoundingShare);
  EXPECT_EQ(find_promise(tiles).at_most, Sameness::kRounding);
  const model::Plan both{"both", {tiles, {"half_evaluation", {}}}};
  EXPECT_EQ(find_promise(both).outputs, kBf16Share) << "the weaker of the two";
  EXPECT_EQ(find_promise(Change{"int8_weights", {}}).outputs, kInt8Share);
  EXPECT_EQ(find_promise(Change{"int4_weights", {}}).outputs, kInt4Share);
}

TEST(Promise, a_plan_promises_what_the_weakest_of_its_changes_does) {
  const Promise whole = find_promise(model::Plan{"both", {kCheckpoint, micro_batch_of(4, 2), {"autocast", {}}}});
  EXPECT_EQ(whole.at_most, Sameness::kPrecision);
  EXPECT_EQ(whole.share, kBf16Share);
  EXPECT_FALSE(whole.exact);
  EXPECT_TRUE(whole.mixes_samples);
  EXPECT_EQ(find_promise(model::Plan{"none", {}}), Promise{});
}

TEST(Promise, a_teacher_in_half_precision_rounds_what_the_student_learns) {
  const Promise promise = find_promise(Change{"half_teacher", {{"dtype", std::string("float16")}}});
  EXPECT_EQ(promise.at_most, Sameness::kPrecision);
  EXPECT_EQ(promise.share, kFp16Share);
  EXPECT_FALSE(promise.exact);
}

TEST(Promise, sparse_gradients_train_the_same_but_by_sparse_adam) {
  EXPECT_TRUE(find_promise(Change{"sparse_embeddings", {}}).meant.empty());
  EXPECT_EQ(find_promise(Change{"sparse_embeddings", {}}).at_most, model::Sameness::kRounding);
  EXPECT_FALSE(find_promise(Change{"sparse_embeddings", {{"optimizer", std::string("SparseAdam")}}}).meant.empty());
  EXPECT_FALSE(find_promise(Change{"prune", {}}).meant.empty());
}

TEST(Promise, another_network_is_meant) { EXPECT_FALSE(find_promise(Change{"smaller_model", {}}).meant.empty()); }

TEST(Promise, adapters_are_meant_to_train_otherwise) {
  EXPECT_EQ(find_promise(Change{"lora", {}}).meant, "adapters beside weights that stand still");
}

TEST(Promise, weights_in_half_are_compared) {
  const Promise promise = find_promise(Change{"half_weights", {}});
  EXPECT_EQ(promise.at_most, Sameness::kPrecision);
  EXPECT_EQ(promise.share, kBf16Share);
  EXPECT_FALSE(promise.exact);
}

TEST(Promise, fused_attention_rounds) {
  const Promise promise = find_promise(Change{"attention", {}});
  EXPECT_EQ(promise.at_most, Sameness::kRounding);
  EXPECT_EQ(promise.outputs, 0) << "compared by the training";
  EXPECT_FALSE(promise.exact);
}

TEST(Promise, eight_bits_of_another_optimizer_are_another_training) {
  const Change adam{"optimizer", {{"name", std::string("bitsandbytes.optim.AdamW8bit")}}};
  const Change lion{"optimizer", {{"name", std::string("bitsandbytes.optim.Lion8bit")}}};
  EXPECT_EQ(find_promise(adam).at_most, Sameness::kPrecision);
  EXPECT_EQ(find_promise(lion).at_most, Sameness::kRounding) << "the two runs name their optimizers";
}

TEST(Promise, another_batch_or_input_is_meant_to_train_otherwise) {
  EXPECT_FALSE(find_promise(micro_batch_of(4, 1)).meant.empty());
  EXPECT_FALSE(find_promise(Change{"resize_input", {{"scale", 0.5}}}).meant.empty());
  EXPECT_TRUE(find_promise(micro_batch_of(4, 2)).meant.empty());
  const model::Plan with_evaluation{"x", {micro_batch_of(4, 2), micro_batch_of(1, 1)}};
  EXPECT_TRUE(find_promise(with_evaluation).meant.empty()) << "the second one is an evaluation's";
}

}  // namespace
}  // namespace vramfit::plan
