// A network as far as its memory goes: what a configuration file or a table says of it.
#ifndef VRAMFIT_MODEL_NETWORK_H
#define VRAMFIT_MODEL_NETWORK_H

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"

namespace vramfit::model {

// What attention keeps of its scores, a number for each pair of tokens in each head.
enum class Scores {
  kFused,     // nothing: a fused kernel takes it, where there are as many heads of keys as of queries
  kOneKey,    // one head of keys for all of queries, as Falcon has it: no fused kernel takes that
  kComposed,  // biased by position (ALiBi), or written operator by operator: softmax in FP32, and its cast
  kCapped,    // by a tanh beside that
};

// How a model's file says that its weights are kept: quantization_config. Embeddings, head and norms are in 16 bits.
struct Quantization {
  std::string method;       // "mxfp4", "gptq", "awq", "fp8", "bitsandbytes"
  double linear_bits = 16;  // of a weight of attention and MLP, with its share of scales
  double expert_bits = 16;  // of one of an expert
  friend bool operator==(const Quantization&, const Quantization&) = default;
};

// A transformer, from the config.json of a Hugging Face model. Sizes are counts of numbers, not bytes.
struct TransformerShape {
  std::string kind;  // "llama": model_type
  std::int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t mlp = 0;           // width of the MLP, or of one expert
  int mlp_matrices = 3;           // 3: gated (gate, up, down); 2: up, down
  std::int64_t experts = 1;       // in a layer
  std::int64_t experts_used = 1;  // by one token
  std::int64_t shared_mlp = 0;    // of experts that every token uses
  std::int64_t vocabulary = 0;
  std::int64_t learned_positions = 0;  // rows of a table of positions; 0: they are computed
  std::int64_t longest = 0;            // sequence; 0: not told
  bool tied_embeddings = false;
  Scores scores = Scores::kFused;
  bool capped_logits = false;  // by a tanh
  bool known = true;           // false: nothing here knows the model_type, and its fields alone tell
  bool generates = true;       // has a head over the vocabulary and a KV cache: a decoder
  std::optional<Quantization> quantization;
  std::vector<std::string> not_counted;  // "vision_config": parts of a model that also sees or hears
  friend bool operator==(const TransformerShape&, const TransformerShape&) = default;
};

// A network of torchvision or timm, measured by tools/measure_networks. Bytes of an image of `size` x `size`.
struct MeasuredNetwork {
  std::string name, library;
  std::int64_t size = 224;
  std::int64_t least_size = 0;  // the smallest side that it takes; 0: unknown
  std::int64_t parameters = 0;
  base::Bytes buffers;
  base::Bytes activations_fp32, peak_fp32, inference_fp32;
  base::Bytes activations_bf16, peak_bf16, inference_bf16;
  friend bool operator==(const MeasuredNetwork&, const MeasuredNetwork&) = default;
};

using Network = std::variant<TransformerShape, MeasuredNetwork>;

}  // namespace vramfit::model

#endif
