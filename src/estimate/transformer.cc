#include "estimate/transformer.h"

#include <algorithm>

namespace vramfit::estimate {

using model::TransformerShape;

namespace {

double tokens_of(const Request& request) { return number(request.batch) * number(request.sequence); }

// Tensors of the MLP's width: the tanh form of GELU is six operators in transformers, each of which keeps something.
constexpr double kComposedGelu = 6;

// Bytes of one activation: what autocast and models in 16 bits compute in.
double width_of(Numbers numbers) { return numbers == Numbers::kFp32 ? 4 : 2; }

// The bytes per hidden number beside attention and the MLP: norms keep their input, as it was, normalised and scaled,
// and under autocast the casts of their output, one for each matrix that reads it. Seen on virtual cards with blocks of
// Llama, Qwen, GPT-2 and BERT (transformers 5.24, torch 2.12), of sizes that no test looks at. Models without a gate
// have LayerNorm, one operator that keeps its input alone; RMSNorm is composed.
double hidden_bytes(const TransformerShape& shape, Numbers numbers) {
  if (shape.mlp_matrices == 2) return numbers == Numbers::kFp32 ? 16 : numbers == Numbers::kMixed ? 28 : 6;
  return numbers == Numbers::kFp32 ? 21 : numbers == Numbers::kMixed ? 29 : 18;
}

// Values for each unit of the MLP's width: with a gate both factors of the product, and what the activation function
// read and gave. Models from before gates (GPT-2, BERT) keep dropout's masks and what their activation functions are
// composed of.
double mlp_values(const TransformerShape& shape) {
  if (shape.mlp_matrices == 3) return 4;
  return shape.kind == "gpt2" ? kComposedGelu : 2;
}

// What backward reads of one score: PyTorch's own composed attention, which is taken where no fused kernel fits,
// computes in FP32 and keeps what softmax gave; models that are written operator by operator cast that to 16 bits, and
// a cap keeps what its tanh gave. In FP32 no fused kernel takes fewer heads of keys than of queries.
double bytes_of_score(const TransformerShape& shape, Numbers numbers) {
  const double composed = numbers == Numbers::kFp32 ? 4 : 4 + width_of(numbers);
  switch (shape.scores) {
    case model::Scores::kFused:
      return numbers == Numbers::kFp32 && shape.kv_heads < shape.heads ? 4 : 0;
    case model::Scores::kOneKey:
      return 4;
    case model::Scores::kComposed:
      return composed;
    case model::Scores::kCapped:
      return composed + width_of(numbers);
  }
  return 0;
}

// The mask of such attention is a tensor too, one for all layers.
double mask_bytes(const TransformerShape& shape, const Request& request) {
  const bool composed = shape.scores == model::Scores::kComposed || shape.scores == model::Scores::kCapped;
  return composed ? tokens_of(request) * number(request.sequence) * width_of(request.numbers) : 0;
}

// What a layer keeps of one token. Attention: queries, keys, values and its output, and scores as above.
double bytes_of_layer(const TransformerShape& shape, const Request& request) {
  const double width = width_of(request.numbers), all_heads = number(shape.heads);
  const double heads = number(shape.heads * shape.head_dim), kv = number(shape.kv_heads * shape.head_dim);
  const double scores = all_heads * number(request.sequence) * bytes_of_score(shape, request.numbers);
  const double attention = width * (2 * heads + 2 * kv) + 4 * all_heads + scores;
  const double mlp_width = number(shape.mlp) * number(shape.experts_used) + number(shape.shared_mlp);
  return attention + width * mlp_width * mlp_values(shape) +
         hidden_bytes(shape, request.numbers) * number(shape.hidden);
}

}  // namespace

TransformerBytes training_bytes(const TransformerShape& shape, const Request& request) {
  const double tokens = tokens_of(request);
  TransformerBytes bytes;
  const double layer = tokens * bytes_of_layer(shape, request);
  // The logits are kept in FP32 for the loss, with their logarithms and the gradient of those.
  const double of_logit = 12 + (shape.capped_logits ? width_of(request.numbers) : 0);
  bytes.logits = tokens * of_logit * number(std::max<std::int64_t>(shape.vocabulary, 0));
  if (!request.checkpointing) {
    bytes.kept = number(shape.layers) * layer + mask_bytes(shape, request);
    return bytes;
  }
  // A layer keeps what came into it, and one at a time is computed again, when the logits are gone.
  const double input = request.numbers == Numbers::kMixed ? 6.6 : width_of(request.numbers);
  bytes.kept = number(shape.layers) * tokens * input * number(shape.hidden);
  bytes.logits = std::max(bytes.logits, layer);
  return bytes;
}

double kv_cache_bytes(const TransformerShape& shape, const Request& request) {
  if (!shape.generates) return 0;
  const double width = request.numbers == Numbers::kFp32 ? 4 : 2;
  return 2 * number(shape.layers) * number(shape.kv_heads * shape.head_dim) * tokens_of(request) * width;
}

double prefill_bytes(const TransformerShape& shape, const Request& request) {
  const double width = request.numbers == Numbers::kFp32 ? 4 : 2;
  const double tokens = tokens_of(request);
  const double mlp = number(shape.mlp) * number(shape.experts_used) + number(shape.shared_mlp);
  // Scores that are tensors: what goes into softmax and what it gives, in FP32; where models write it themselves the
  // casts too, and the pieces between that the allocator has no use for then.
  const bool own_attention = shape.scores == model::Scores::kComposed || shape.scores == model::Scores::kCapped;
  const double score_at_work = own_attention ? 12 : 9;
  const double scores = bytes_of_score(shape, request.numbers) > 0
                            ? tokens * number(request.sequence) * number(shape.heads) * score_at_work
                            : 0;
  // The stream of hidden states with its norm, and the MLP's inner parts or attention's scores; logits of the last
  // token alone.
  const double inner = tokens * width * mlp * (shape.mlp_matrices == 3 ? 3 : 2);
  return tokens * width * 4 * number(shape.hidden) + std::max(inner, scores) + mask_bytes(shape, request) +
         number(request.batch) * number(shape.vocabulary) * width;
}

}  // namespace vramfit::estimate
