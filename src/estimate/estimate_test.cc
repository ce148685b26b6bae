#include "estimate/estimate.h"

#include <gtest/gtest.h>

#include "estimate/transformer.h"

namespace vramfit::estimate {
namespace {

// The configurations that their makers publish, and the numbers of parameters that they tell.
model::TransformerShape llama2_7b() {
  return {.kind = "llama",
          .layers = 32,
          .hidden = 4096,
          .heads = 32,
          .kv_heads = 32,
          .head_dim = 128,
          .mlp = 11008,
          .vocabulary = 32000,
          .longest = 4096};
}

model::TransformerShape llama3_8b() {
  return {.kind = "llama",
          .layers = 32,
          .hidden = 4096,
          .heads = 32,
          .kv_heads = 8,
          .head_dim = 128,
          .mlp = 14336,
          .vocabulary = 128256,
          .longest = 8192};
}

model::TransformerShape gpt2() {
  return {.kind = "gpt2",
          .layers = 12,
          .hidden = 768,
          .heads = 12,
          .kv_heads = 12,
          .head_dim = 64,
          .mlp = 3072,
          .mlp_matrices = 2,
          .vocabulary = 50257,
          .learned_positions = 1024,
          .longest = 1024,
          .tied_embeddings = true};
}

model::TransformerShape mixtral() {
  return {.kind = "mixtral",
          .layers = 32,
          .hidden = 4096,
          .heads = 32,
          .kv_heads = 8,
          .head_dim = 128,
          .mlp = 14336,
          .experts = 8,
          .experts_used = 2,
          .vocabulary = 32000,
          .longest = 32768};
}

model::Card card(std::int64_t gib) {
  model::Card result;
  result.key = "toy";
  result.memory = Bytes::gib(gib);
  result.capability = {8, 6};
  result.sm_count = 80;
  result.max_threads_per_sm = 1536;
  return result;
}

Bytes part(const Estimate& estimate, const std::string& what) {
  for (const Part& one : estimate.parts) {
    if (one.what == what) return one.bytes;
  }
  return Bytes(-1);
}

TEST(Estimate, parameters_are_those_that_the_makers_tell) {
  EXPECT_EQ(count_parameters(llama2_7b()), 6'738'415'616);
  EXPECT_EQ(count_parameters(llama3_8b()), 8'030'261'248);
  EXPECT_EQ(count_parameters(mixtral()), 46'702'792'704);
  // GPT-2 has biases beside: a thousandth of its 124439808.
  EXPECT_NEAR(static_cast<double>(count_parameters(gpt2())), 124'439'808, 124'439);
}

TEST(Estimate, lora_adds_two_thin_matrices_to_each) {
  // peft on Llama 2 7B with rank 8 on all linear layers of a block: 19988480.
  EXPECT_EQ(count_lora(llama2_7b(), 8), 19'988'480);
}

TEST(Estimate, a_step_with_adamw_holds_sixteen_bytes_a_weight) {
  const auto told = estimate(llama2_7b(), {.numbers = Numbers::kFp32, .batch = 1, .sequence = 16}, card(200));
  ASSERT_TRUE(told);
  const double weights = 6'738'415'616;
  EXPECT_EQ(told->fullest_stage, "in the optimizer's step");
  EXPECT_DOUBLE_EQ(static_cast<double>(part(*told, "weights").count()), 4 * weights);
  EXPECT_DOUBLE_EQ(static_cast<double>(part(*told, "optimizer").count()), 8 * weights);
  EXPECT_DOUBLE_EQ(static_cast<double>(part(*told, "gradients").count()), 4 * weights);
}

TEST(Estimate, a_kv_cache_is_two_vectors_a_layer_and_token) {
  const auto told = estimate(
      llama3_8b(), {.task = Task::kInference, .numbers = Numbers::kBf16, .batch = 2, .sequence = 8192}, card(24));
  ASSERT_TRUE(told);
  EXPECT_EQ(part(*told, "KV cache").count(), std::int64_t{2} * 32 * 8 * 128 * 2 * 8192 * 2);
  EXPECT_EQ(part(*told, "weights").count(), 2 * count_parameters(llama3_8b()));
}

TEST(Estimate, lora_trains_little_and_freezes_the_rest) {
  const auto told =
      estimate(llama2_7b(), {.task = Task::kLora, .numbers = Numbers::kInt4, .batch = 1, .sequence = 512}, card(24));
  ASSERT_TRUE(told) << to_string(told.error());
  EXPECT_EQ(told->trained, count_lora(llama2_7b(), 8));
  EXPECT_LT(part(*told, "frozen weights"), Bytes::gib(4));
  EXPECT_EQ(part(*told, "optimizer").count(), 8 * told->trained);
}

TEST(Estimate, scores_that_are_tensors_grow_with_the_square_of_the_sequence) {
  const auto peak = [&](model::Scores scores, std::int64_t sequence, Task task) {
    model::TransformerShape shape = llama2_7b();
    shape.scores = scores;
    const auto told = estimate(shape, {.task = task, .numbers = Numbers::kBf16, .sequence = sequence}, card(80));
    return told ? number(told->tensors.count()) : 0.0;
  };
  constexpr double kPairs = 32.0 * 32 * 4096 * 4096;  // layers, heads
  const double fused = peak(model::Scores::kFused, 4096, Task::kTrain);
  EXPECT_NEAR(peak(model::Scores::kOneKey, 4096, Task::kTrain) - fused, 4 * kPairs, 1e9);
  EXPECT_NEAR(peak(model::Scores::kComposed, 4096, Task::kTrain) - fused, 6 * kPairs, 1e9);
  EXPECT_NEAR(peak(model::Scores::kCapped, 4096, Task::kTrain) - fused, 8 * kPairs, 1e9);
  // One layer at a time reads a prompt.
  EXPECT_GT(peak(model::Scores::kCapped, 4096, Task::kInference),
            peak(model::Scores::kFused, 4096, Task::kInference) + 10 * kPairs / 32);
}

TEST(Estimate, checkpointing_keeps_what_comes_into_each_layer) {
  const auto plain = estimate(llama2_7b(), {.batch = 4, .sequence = 2048}, card(80));
  const auto thin = estimate(llama2_7b(), {.batch = 4, .sequence = 2048, .checkpointing = true}, card(80));
  ASSERT_TRUE(plain && thin);
  EXPECT_LT(part(*thin, "activations").count() * 4, part(*plain, "activations").count());
}

TEST(Estimate, the_verdict_says_how_sure_it_is) {
  const Request request{.batch = 2, .sequence = 1024};
  EXPECT_EQ(estimate(gpt2(), request, card(80))->verdict, EstimateVerdict::kProbablyFits);
  EXPECT_EQ(estimate(gpt2(), request, card(2))->verdict, EstimateVerdict::kProbablyRunsOut);
  const auto told = estimate(gpt2(), request, card(80));
  model::Card exact = card(80);
  exact.memory = told->peak;
  EXPECT_EQ(estimate(gpt2(), request, exact)->verdict, EstimateVerdict::kTooNear);
  EXPECT_LT(told->low, told->peak);
  EXPECT_GT(told->high, told->peak);
}

TEST(Estimate, the_largest_batch_fits_and_the_next_one_does_not) {
  const auto told = estimate(gpt2(), {.sequence = 512}, card(16));
  ASSERT_TRUE(told && told->largest_batch);
  EXPECT_EQ(estimate(gpt2(), {.batch = *told->largest_batch, .sequence = 512}, card(16))->verdict,
            EstimateVerdict::kProbablyFits);
  EXPECT_NE(estimate(gpt2(), {.batch = *told->largest_batch + 1, .sequence = 512}, card(16))->verdict,
            EstimateVerdict::kProbablyFits);
  EXPECT_FALSE(estimate(llama2_7b(), {}, card(16))->largest_batch);
}

TEST(Estimate, no_range_goes_below_the_weights) {
  const auto told = estimate(llama2_7b(), {.task = Task::kInference, .sequence = 128}, card(12));
  ASSERT_TRUE(told);
  EXPECT_GT(told->low, part(*told, "weights"));
  EXPECT_EQ(told->verdict, EstimateVerdict::kProbablyRunsOut) << "12.6 GiB of weights";
}

TEST(Estimate, images_grow_with_their_area) {
  const model::MeasuredNetwork network{.name = "toy",
                                       .library = "timm",
                                       .size = 224,
                                       .parameters = 1'000'000,
                                       .buffers = Bytes(4096),
                                       .activations_fp32 = Bytes::mib(100),
                                       .peak_fp32 = Bytes::mib(110),
                                       .inference_fp32 = Bytes::mib(9),
                                       .activations_bf16 = Bytes::mib(60),
                                       .peak_bf16 = Bytes::mib(70),
                                       .inference_bf16 = Bytes::mib(5)};
  const auto activations = [&](Request request) { return part(*estimate(network, request, card(80)), "activations"); };
  EXPECT_EQ(activations({.numbers = Numbers::kFp32, .batch = 4}), Bytes::mib(440));
  EXPECT_EQ(activations({.numbers = Numbers::kFp32, .batch = 4, .size = 448}), Bytes::mib(1760));
  EXPECT_EQ(activations({.task = Task::kInference, .numbers = Numbers::kBf16, .batch = 2}), Bytes::mib(10));
  EXPECT_FALSE(estimate(network, {.task = Task::kLora}, card(80)));
}

TEST(Estimate, images_that_a_network_does_not_take_are_refused) {
  const model::MeasuredNetwork network{.name = "toy", .library = "timm", .least_size = 32, .parameters = 1'000'000};
  EXPECT_TRUE(estimate(network, {.size = 32}, card(80)));
  const auto small = estimate(network, {.size = 31}, card(80));
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().what, "toy takes no images of 31 x 31 pixels");
  EXPECT_EQ(small.error().remedy, "--size 32 is the least; it is made for 224");
}

TEST(Estimate, nonsense_is_refused_and_nothing_overflows) {
  EXPECT_FALSE(estimate(gpt2(), {.batch = 0}, card(16)));
  EXPECT_FALSE(estimate(gpt2(), {.batch = -3}, card(16)));
  EXPECT_FALSE(estimate(gpt2(), {.sequence = 4096}, card(16))) << "GPT-2 has 1024 positions";
  EXPECT_FALSE(estimate(llama2_7b(), {.numbers = Numbers::kInt4}, card(16))) << "four bits are not trained";
  const auto huge = estimate(llama2_7b(), {.batch = 1 << 30, .sequence = 1 << 30}, card(16));
  ASSERT_TRUE(huge);
  EXPECT_EQ(huge->verdict, EstimateVerdict::kProbablyRunsOut);
}

}  // namespace
}  // namespace vramfit::estimate
