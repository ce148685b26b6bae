#include "estimate/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "devices/overhead.h"
#include "estimate/transformer.h"

namespace vramfit::estimate {

using base::ErrorCode;
using base::fail;
using base::Result;
using model::MeasuredNetwork;
using model::TransformerShape;

namespace {

template <class Kind, std::size_t N>
std::optional<Kind> find_named(const std::array<std::pair<std::string_view, Kind>, N>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &std::pair<std::string_view, Kind>::first);
  return found == all.end() ? std::nullopt : std::optional<Kind>(found->second);
}

Bytes bytes(double count) {
  constexpr double kMost = 4e18;
  return Bytes(static_cast<std::int64_t>(std::clamp(count, 0.0, kMost)));
}

// The bytes of one weight, as it is kept. Four and eight bits come with scales of their own: Dettmers et al. 2023,
// QLoRA: 0.127 bits a weight with double quantization, which bitsandbytes does where it is told to.
double weight_bytes(Numbers numbers) {
  switch (numbers) {
    case Numbers::kFp32:
    case Numbers::kMixed:
      return 4;
    case Numbers::kBf16:
      return 2;
    case Numbers::kInt8:
      return 1;
    case Numbers::kInt4:
      return 0.5 + 0.127 / 8;
  }
  return 4;
}

double optimizer_bytes(Optimizer optimizer, double of_number) {
  return optimizer == Optimizer::kAdamW ? 2 * of_number : optimizer == Optimizer::kSgdMomentum ? of_number : 0;
}

std::string millions(std::int64_t count) {
  return count >= 10'000'000'000 ? fmt::format("{:.1f} G", number(count) / 1e9)
                                 : fmt::format("{:.1f} M", number(count) / 1e6);
}

struct FrozenWeights {
  double bytes = 0;
  std::string how;
};

// Quantizers take the matrices of attention and MLP. Embeddings, head and norms stay in 16 bits.
FrozenWeights frozen_weights_of(const TransformerShape& shape, const Request& request) {
  const std::int64_t all = count_parameters(shape);
  const Numbers numbers = request.numbers == Numbers::kMixed ? Numbers::kBf16 : request.numbers;
  const bool is_quantized = request.as_stored || numbers == Numbers::kInt8 || numbers == Numbers::kInt4;
  if (!is_quantized) return {number(all) * weight_bytes(numbers), millions(all) + " numbers"};
  const std::int64_t experts = shape.experts > 1 ? count_experts(shape) : 0;
  const std::int64_t linear = count_linear(shape) - experts;
  const double bits = request.as_stored ? shape.quantization->linear_bits : 8 * weight_bytes(numbers);
  const double expert_bits = request.as_stored ? shape.quantization->expert_bits : bits;
  const double bytes = (number(linear) * bits + number(experts) * expert_bits) / 8;
  // What the method leaves in 16 bits is told with the rest.
  constexpr double kWhole = 16;
  const std::int64_t small = (bits < kWhole ? linear : 0) + (expert_bits < kWhole ? experts : 0);
  const double least = bits < kWhole ? bits : expert_bits;
  return {bytes + 2 * number(all - linear - experts),
          fmt::format("{} of {:.3g} bits, {} of 16", millions(small), least, millions(all - small))};
}

// One stage of a step, and all that is in memory then.
struct StageUse {
  std::string name;
  std::vector<Part> parts;
  double total() const {
    double sum = 0;
    for (const Part& part : parts) sum += number(part.bytes.count());
    return sum;
  }
};

// What training holds, whatever the network is.
struct Training {
  std::int64_t parameters = 0, trained = 0;
  double frozen_bytes = 0;  // of weights that are not trained
  std::string frozen_how;
  double trained_bytes = 4;  // of one that is
  double buffers = 0;
  double activations = 0, loss = 0;
  bool copies_weights = false;  // autocast
  std::string of_what;          // "batch 4 x 2048 tokens"
};

void add(StageUse& use, std::string what, double count, std::string how) {
  if (count >= 1) use.parts.push_back({std::move(what), bytes(count), std::move(how)});
}

void add_standing(StageUse& use, const Training& training, const Request& request) {
  const double trained = number(training.trained);
  if (training.frozen_bytes > 0) {
    add(use, "frozen weights", training.frozen_bytes, training.frozen_how);
    add(use, "trained weights", trained * training.trained_bytes,
        fmt::format("{} x {} bytes", millions(training.trained), training.trained_bytes));
  } else {
    add(use, "weights", trained * training.trained_bytes,
        fmt::format("{} x {} bytes", millions(training.trained), training.trained_bytes));
  }
  add(use, "optimizer", trained * optimizer_bytes(request.optimizer, training.trained_bytes),
      "what it keeps of each trained weight");
  add(use, "buffers", training.buffers, "statistics of norms and the like");
}

std::vector<StageUse> uses_of(const Training& training, const Request& request) {
  const double trained = number(training.trained), gradients = trained * training.trained_bytes;
  StageUse loss{"at the loss, when backward begins", {}};
  add_standing(loss, training, request);
  if (training.copies_weights)
    add(loss, "weights in 16 bits", 2 * number(training.parameters), "autocast keeps them through the step");
  add(loss, "activations", training.activations, training.of_what);
  add(loss, "logits and loss", training.loss, training.of_what);
  StageUse end{"in the optimizer's step", {}};
  add_standing(end, training, request);
  add(end, "gradients", gradients, "as large as the trained weights");
  if (request.optimizer == Optimizer::kAdamW)
    add(end, "optimizer at work", gradients, "a root of each second moment, for all weights at once");
  return {std::move(loss), std::move(end)};
}

Result<void> check(const TransformerShape& shape, Request& request) {
  request.sequence = sequence_of(shape, request);
  if (shape.learned_positions > 0 && request.sequence > shape.learned_positions) {
    return fail(ErrorCode::kUsage, fmt::format("the model takes no sequence longer than {}", shape.learned_positions),
                "--sequence");
  }
  if (request.task == Task::kTrain && request.as_stored) {
    return fail(ErrorCode::kUsage,
                fmt::format("weights that are quantized ({}) are not trained themselves", shape.quantization->method),
                "--task", "--task lora, --task inference, or --precision mixed for them read back whole");
  }
  if (request.task == Task::kTrain && (request.numbers == Numbers::kInt8 || request.numbers == Numbers::kInt4)) {
    return fail(ErrorCode::kUsage, "weights of 8 or 4 bits are not trained themselves", "--precision",
                "--task lora, or --task inference");
  }
  return {};
}

// What is in use at each stage; the fullest of them is the answer.
Result<std::vector<StageUse>> uses_of(const TransformerShape& shape, const Request& request, Estimate& answer) {
  answer.parameters = count_parameters(shape);
  const FrozenWeights frozen_weights = frozen_weights_of(shape, request);
  const double frozen = frozen_weights.bytes;
  const std::string what = fmt::format("batch {} x {} tokens", request.batch, request.sequence);
  if (request.task == Task::kInference) {
    StageUse use{"when the whole sequence is in the cache", {}};
    add(use, "weights", frozen, frozen_weights.how);
    add(use, "KV cache", kv_cache_bytes(shape, request), what);
    add(use, "activations", prefill_bytes(shape, request), "reading the prompt at once, " + what);
    return std::vector{std::move(use)};
  }
  Training training;
  training.parameters = answer.parameters;
  training.of_what = what;
  const TransformerBytes activations = training_bytes(shape, request);
  training.activations = activations.kept;
  training.loss = activations.logits;
  if (request.task == Task::kLora) {
    training.trained = count_lora(shape, request.rank);
    training.frozen_bytes = frozen;
    training.frozen_how = frozen_weights.how;
  } else {
    training.trained = answer.parameters;
    training.trained_bytes = weight_bytes(request.numbers);
    training.copies_weights = request.numbers == Numbers::kMixed;
  }
  answer.trained = training.trained;
  return uses_of(training, request);
}

Result<std::vector<StageUse>> uses_of(const MeasuredNetwork& network, const Request& request, Estimate& answer) {
  if (request.task == Task::kLora) {
    return fail(ErrorCode::kUsage, "LoRA is estimated for transformers with a config.json", "--task", "--task train");
  }
  if (request.numbers == Numbers::kInt8 || request.numbers == Numbers::kInt4) {
    return fail(ErrorCode::kUsage, "networks with a name are estimated in fp32, mixed and bf16", "--precision",
                "--precision mixed");
  }
  if (request.size > 0 && request.size < network.least_size) {
    return fail(ErrorCode::kUsage,
                fmt::format("{} takes no images of {} x {} pixels", network.name, request.size, request.size), "--size",
                fmt::format("--size {} is the least; it is made for {}", network.least_size, network.size));
  }
  answer.parameters = network.parameters;
  const bool half = request.numbers != Numbers::kFp32;
  const double size = number(request.size > 0 ? request.size : network.size) / number(network.size);
  const double images = number(request.batch) * size * size;
  // cuDNN chooses workspaces by speed: for small networks in FP32 they were seen as large as the activations, and never
  // above a GiB.
  constexpr double kMostWorkspace = 1 << 30;
  answer.convolutions = bytes(std::min(images * number(network.peak_fp32.count()), kMostWorkspace));
  const std::int64_t side = request.size > 0 ? request.size : network.size;
  Training training;
  training.parameters = training.trained = network.parameters;
  training.trained_bytes = weight_bytes(request.numbers);
  training.buffers = number(network.buffers.count());
  training.of_what = fmt::format("batch {} of {} x {}", request.batch, side, side);
  training.copies_weights = request.numbers == Numbers::kMixed;
  if (request.task == Task::kInference) {
    StageUse use{"in the widest layer", {}};
    add(use, "weights", number(network.parameters) * training.trained_bytes, millions(network.parameters) + " numbers");
    add(use, "buffers", training.buffers, "statistics of norms and the like");
    if (training.copies_weights) add(use, "weights in 16 bits", 2 * number(network.parameters), "of autocast");
    add(use, "activations", images * number((half ? network.inference_bf16 : network.inference_fp32).count()),
        training.of_what);
    return std::vector{std::move(use)};
  }
  answer.trained = network.parameters;
  training.activations = images * number((half ? network.peak_bf16 : network.peak_fp32).count());
  return uses_of(training, request);
}

Result<std::vector<StageUse>> uses_of(const model::Network& network, Request request, Estimate& answer) {
  if (const auto* shape = std::get_if<TransformerShape>(&network)) {
    if (auto sensible = check(*shape, request); !sensible) return std::unexpected(sensible.error());
    return uses_of(*shape, request, answer);
  }
  return uses_of(std::get<MeasuredNetwork>(network), request, answer);
}

// PyTorch's allocator takes memory in segments and rounds blocks: what it reserves beside tensors, of the runs in
// tests/estimate together.
constexpr double kReservedShare = 0.12;
constexpr int kLibraries = 2;  // cuBLAS, and cuDNN or a Triton runtime

// cuBLAS and cuBLASLt each have a workspace from PyTorch's allocator: aten/src/ATen/cuda/CUDABlas.cpp and
// CublasHandlePool.cpp of torch 2.12, 32 MiB from Hopper on, 8 MiB and a little before.
Bytes workspaces_of(const model::Card& card) { return Bytes::mib(card.capability.major >= 9 ? 64 : 17); }

// What the network's shape fixes: no range goes below it.
Bytes exact_of(const Estimate& answer) {
  Bytes exact;
  for (const Part& part : answer.parts) {
    if (part.what == "weights") exact = exact + part.bytes;
  }
  return exact;
}

void place_on(Estimate& answer, const model::Card& card) {
  constexpr int kCudaMajor = 13;  // of torch 2.12, which the shares above were measured with
  const devices::Overhead overhead = devices::find_overhead(card, {.cuda_major = kCudaMajor});
  const double tensors = number(answer.tensors.count());
  answer.reserved = bytes(tensors * (1 + kReservedShare));
  answer.outside = devices::total_of(overhead, kLibraries);
  answer.peak = answer.reserved + answer.outside;
  const Bytes half = bytes(number(answer.reserved.count()) * kUncertainty) + overhead.uncertainty;
  answer.low = std::max(answer.peak - half, exact_of(answer) + answer.outside - overhead.uncertainty);
  answer.high = answer.peak + half + answer.convolutions;
  answer.verdict = answer.high <= card.memory ? EstimateVerdict::kProbablyFits
                   : answer.low > card.memory ? EstimateVerdict::kProbablyRunsOut
                                              : EstimateVerdict::kTooNear;
}

Result<Estimate> estimate_one(const model::Network& network, const Request& request, const model::Card& card) {
  Estimate answer;
  auto uses = uses_of(network, request, answer);
  if (!uses) return std::unexpected(uses.error());
  StageUse& fullest = *std::ranges::max_element(*uses, {}, [](const StageUse& use) { return use.total(); });
  answer.fullest_stage = fullest.name;
  answer.parts = std::move(fullest.parts);
  answer.parts.push_back({"workspaces", workspaces_of(card), "of cuBLAS and cuBLASLt"});
  for (const Part& part : answer.parts)
    answer.tensors = bytes(number(answer.tensors.count()) + number(part.bytes.count()));
  place_on(answer, card);
  return answer;
}

// Doubles, then halves: memory never falls as the batch grows.
std::optional<std::int64_t> find_largest_batch(const model::Network& network, Request request,
                                               const model::Card& card) {
  constexpr std::int64_t kMostBatch = std::int64_t{1} << 20;
  const auto fits = [&](std::int64_t batch) {
    request.batch = batch;
    const auto one = estimate_one(network, request, card);
    return one && one->verdict == EstimateVerdict::kProbablyFits;
  };
  if (!fits(1)) return std::nullopt;
  std::int64_t good = 1, bad = 2;
  while (bad < kMostBatch && fits(bad)) good = std::exchange(bad, bad * 2);
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return good;
}

}  // namespace

std::optional<Task> find_task(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, Task>, 3> kAll = {
      {{"train", Task::kTrain}, {"lora", Task::kLora}, {"inference", Task::kInference}}};
  return find_named(kAll, name);
}

std::optional<Numbers> find_numbers(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, Numbers>, 5> kAll = {{{"fp32", Numbers::kFp32},
                                                                         {"mixed", Numbers::kMixed},
                                                                         {"bf16", Numbers::kBf16},
                                                                         {"int8", Numbers::kInt8},
                                                                         {"int4", Numbers::kInt4}}};
  return find_named(kAll, name);
}

std::optional<Optimizer> find_optimizer(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, Optimizer>, 3> kAll = {
      {{"adamw", Optimizer::kAdamW}, {"sgd-momentum", Optimizer::kSgdMomentum}, {"sgd", Optimizer::kSgd}}};
  return find_named(kAll, name);
}

std::int64_t sequence_of(const TransformerShape& shape, const Request& request) {
  constexpr std::int64_t kUsual = 2048;
  if (request.sequence > 0) return request.sequence;
  return shape.longest > 0 ? std::min(shape.longest, kUsual) : kUsual;
}

std::int64_t count_parameters(const TransformerShape& shape) {
  const std::int64_t attention = shape.hidden * shape.head_dim * (2 * shape.heads + 2 * shape.kv_heads);
  const std::int64_t router = shape.experts > 1 ? shape.hidden * shape.experts : 0;
  const std::int64_t mlp = shape.mlp_matrices * shape.hidden * (shape.mlp * shape.experts + shape.shared_mlp) + router;
  const std::int64_t layer = attention + mlp + 2 * shape.hidden;
  const std::int64_t embeddings =
      shape.hidden * (shape.vocabulary * (shape.tied_embeddings || !shape.generates ? 1 : 2) + shape.learned_positions);
  return shape.layers * layer + embeddings + shape.hidden;
}

std::int64_t count_experts(const TransformerShape& shape) {
  return shape.layers * shape.mlp_matrices * shape.hidden * shape.mlp * shape.experts;
}

std::int64_t count_linear(const TransformerShape& shape) {
  const std::int64_t attention = shape.hidden * shape.head_dim * (2 * shape.heads + 2 * shape.kv_heads);
  const std::int64_t shared = shape.mlp_matrices * shape.hidden * shape.shared_mlp;
  return shape.layers * (attention + shared) + count_experts(shape);
}

std::int64_t count_lora(const TransformerShape& shape, std::int64_t rank) {
  const std::int64_t heads = shape.heads * shape.head_dim, kv = shape.kv_heads * shape.head_dim;
  const std::int64_t attention = 2 * (shape.hidden + heads) + 2 * (shape.hidden + kv);
  const std::int64_t mlp = shape.mlp_matrices * (shape.hidden + shape.mlp) * shape.experts;
  return shape.layers * rank * (attention + mlp);
}

Result<Estimate> estimate(const model::Network& network, const Request& request, const model::Card& card) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  for (const auto& [value, option] : {std::pair{request.batch, "--batch"},
                                      {request.sequence, "--sequence"},
                                      {request.size, "--size"},
                                      {request.rank, "--rank"}}) {
    if (value < 0 || value > kMost || (value == 0 && option == std::string_view("--batch"))) {
      return fail(ErrorCode::kUsage, fmt::format("{} is no sensible number", value), option);
    }
  }
  if (request.numbers == Numbers::kBf16 && request.task == Task::kTrain && card.capability.major < 8) {
    return fail(ErrorCode::kUsage, card.name + " has no bfloat16, and training in pure fp16 fails", "--precision",
                "--precision mixed, which is fp16 there");
  }
  auto answer = estimate_one(network, request, card);
  if (answer) answer->largest_batch = find_largest_batch(network, request, card);
  return answer;
}

}  // namespace vramfit::estimate
