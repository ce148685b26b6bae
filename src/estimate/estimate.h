// Estimates from its shape alone how much memory a network takes, in no time; a run is the proof.
//
// What is summed up, of a training step with AdamW under autocast (Rajbhandari et al. 2020, ZeRO, section 3.1):
//
//   at the loss      weights 4 P + optimizer 8 P + copies of the weights in 16 bits 2 P + activations + logits
//   after backward   weights 4 P + optimizer 8 P + gradients 4 P
//   in the optimizer the same, + 4 P for what it computes on the way (PyTorch's foreach AdamW)
//
// and the largest of these. Activations of a transformer are counted as Korthikanti et al. 2022 do (Reducing activation
// recomputation, section 4), for what PyTorch keeps of today's layers, with attention that keeps no scores
// (scaled_dot_product_attention); a KV cache as Pope et al. 2022 do. Those of networks with a name were measured.
#ifndef VRAMFIT_ESTIMATE_ESTIMATE_H
#define VRAMFIT_ESTIMATE_ESTIMATE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/card.h"
#include "model/network.h"

namespace vramfit::estimate {

using base::Bytes;

enum class Task { kTrain, kLora, kInference };
// How weights are kept, and what is computed in.
enum class Numbers { kFp32, kMixed, kBf16, kInt8, kInt4 };
enum class Optimizer { kAdamW, kSgdMomentum, kSgd };

std::optional<Task> find_task(const std::string& name);            // train, lora, inference
std::optional<Numbers> find_numbers(const std::string& name);      // fp32, mixed, bf16, int8, int4
std::optional<Optimizer> find_optimizer(const std::string& name);  // adamw, sgd-momentum, sgd

struct Request {
  Task task = Task::kTrain;
  Numbers numbers = Numbers::kMixed;
  Optimizer optimizer = Optimizer::kAdamW;
  std::int64_t batch = 1;
  std::int64_t sequence = 0;  // of a transformer; 0: 2048, or the longest it takes
  std::int64_t size = 0;      // of images; 0: the network's own
  bool checkpointing = false;
  std::int64_t rank = 8;   // of LoRA
  bool as_stored = false;  // weights that are not trained stay quantized as the model's file says
  friend bool operator==(const Request&, const Request&) = default;
};

struct Part {
  std::string what;  // "weights"
  Bytes bytes;
  std::string how;  // "124.4 M numbers x 4 bytes"
  friend bool operator==(const Part&, const Part&) = default;
};

enum class EstimateVerdict { kProbablyFits, kTooNear, kProbablyRunsOut };

struct Estimate {
  std::int64_t parameters = 0, trained = 0;
  std::string fullest_stage;  // when it is fullest: "at the loss"
  std::vector<Part> parts;    // of that moment
  Bytes tensors;              // their sum
  Bytes reserved;             // with what PyTorch's allocator keeps beside it
  Bytes outside;              // context and libraries
  Bytes convolutions;         // what their workspaces may take besides: unknown without a run, in `high` alone
  Bytes peak, low, high;      // on the device, and the range that held the runs it was checked on
  EstimateVerdict verdict = EstimateVerdict::kTooNear;
  std::optional<std::int64_t> largest_batch;  // that probably fits; none: not even one
  friend bool operator==(const Estimate&, const Estimate&) = default;
};

// Half-width of the range, as a share of what PyTorch reserves: tests/estimate compares with runs and prints how far
// off each is.
inline constexpr double kUncertainty = 0.2;

// Tokens of one text: those wished for, else 2048 or the longest that the model takes.
std::int64_t sequence_of(const model::TransformerShape& shape, const Request& request);

std::int64_t count_parameters(const model::TransformerShape& shape);
// How many of these are in matrices of attention and MLP, and how many in experts alone.
std::int64_t count_linear(const model::TransformerShape& shape);
std::int64_t count_experts(const model::TransformerShape& shape);
// Numbers that LoRA of this rank adds, on all matrices of attention and MLP.
std::int64_t count_lora(const model::TransformerShape& shape, std::int64_t rank);

// Refused where it makes no sense: LoRA or a KV cache of a network for images, a sequence longer than the model takes.
base::Result<Estimate> estimate(const model::Network& network, const Request& request, const model::Card& card);

}  // namespace vramfit::estimate

#endif
