// What one run of a training job revealed: the facts that plans are made from. Built by facts/job_builder.
//
// Everything here is about one process and one card. Sizes were measured on the virtual card; work was counted there.
// A fact that was not seen is absent or empty, never an invented 0.
#ifndef VRAMFIT_MODEL_JOB_H
#define VRAMFIT_MODEL_JOB_H

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "model/allocation_stream.h"

namespace vramfit::model {

using base::Bytes;

struct LoaderFacts {
  int ordinal = 0;  // the order in which loaders were first used; plans name loaders by it
  std::int64_t batch_size = 0;
  std::int64_t batches = 0;                       // a full pass, before any cut
  std::string phase;                              // "train", "validate", "test"
  std::vector<std::vector<std::int64_t>> shapes;  // of the tensors in one batch
  std::int64_t samples = 0;                       // in its data set; 0: not known
  bool operator==(const LoaderFacts&) const = default;
};

// A module that may be checkpointed. Blocks are disjoint and in the order in which they ran.
struct ModuleBlock {
  std::string name;  // as in named_modules() of the root module
  std::string class_name;
  std::int64_t parameters = 0;
  Bytes saved;              // activations its forwards of a step left alive, their output included
  Bytes output;             // of those, what stays alive when the block is checkpointed
  std::int64_t calls = 1;   // in a step; each is run again by itself
  double forward_macs = 0;  // multiply-adds of one forward
  bool operator==(const ModuleBlock&) const = default;
};

// One way to cut the root module into blocks: a coarse one (stages) and a fine one (their parts) are both useful.
struct BlockLevel {
  std::vector<ModuleBlock> blocks;
  bool operator==(const BlockLevel&) const = default;
};

// A module's part in one training step: how full the card was while it ran, and what running it again would free.
// Peaks are bytes allocated on the card in the fullest recorded step, in which every module kept its activations.
struct StepModule {
  std::string name;  // as in named_modules() of the root module
  int parent = -1;   // index of the module around it, which comes before it; -1: none
  bool may_repeat = true;
  Bytes freed;           // not held any more from its forward to its backward when it is checkpointed; may be negative
  Bytes forward_peak;    // from its beginning to its last allocation
  Bytes after_peak;      // from there to the beginning of the next module
  Bytes backward_peak;   // while its backward ran
  Bytes repeat_peak;     // when its forward is run again before that, with nothing else changed
  Bytes repeat_rise;     // so much higher than in its first forward stands the card then
  Bytes products;        // written by products of matrices and convolutions in its forward, whether or not it is held
  double macs = 0;       // multiply-adds of its forward
  double bytes = 0;      // allocated by its forward
  double operators = 0;  // that allocated something in it
  bool operator==(const StepModule&) const = default;
};

// The fullest training step as the modules in it, each after the one around it, in the order in which they ran.
struct StepModules {
  std::vector<StepModule> modules;
  Bytes end_peak;  // from the last module's end to the beginning of backward: the loss
  Bytes peak;      // of its forward and backward
  bool operator==(const StepModules&) const = default;
};

struct OptimizerFacts {
  std::string class_name;  // "AdamW"
  std::optional<bool> foreach;
  std::optional<bool> fused;
  Bytes state;
  Bytes largest = {};             // of its parameters
  Bytes factored = {};            // of the state that Adafactor would keep; 0: not known
  bool has_bitsandbytes = false;  // the script's environment can import it
  bool operator==(const OptimizerFacts&) const = default;
};

// The script's zero_grad(set_to_none=False): gradients keep their memory from one step to the next.
struct KeptGradients {
  std::string line;            // "train.py:31 in train"; empty when it was not found
  bool after_forward = false;  // called when the forward pass is over, which holds them either way
  bool operator==(const KeptGradients&) const = default;
};

struct PrecisionFacts {
  std::optional<std::string> autocast;  // "bfloat16", "float16"
  bool scaler = false;
  bool checkpointing = false;
  bool compiled = false;
  bool tf32 = false;
  bool operator==(const PrecisionFacts&) const = default;
};

// Who owns the allocated bytes at one instant.
struct Holdings {
  Bytes weights, buffers, gradients, optimizer, inputs, activations, workspaces, temporaries;
  Bytes gathered = {};  // by an evaluation, and what is made of it after its last batch
  bool operator==(const Holdings&) const = default;
};
Bytes sum(const Holdings& holdings);

// The member in which a block's bytes are counted.
inline constexpr std::array<Bytes Holdings::*, kBlockOwnerCount> kHoldingOfOwner = {
    &Holdings::weights, &Holdings::buffers,     &Holdings::gradients,  &Holdings::optimizer,
    &Holdings::inputs,  &Holdings::activations, &Holdings::workspaces, &Holdings::temporaries};

// The instant at which one stage of one phase held most.
struct StagePeak {
  std::string phase;  // "train", "validate", ...
  std::string stage;  // "forward", "backward", "optimizer", "input", "other"
  Holdings holdings;
  bool operator==(const StagePeak&) const = default;
};

struct PhaseFacts {
  std::string phase;
  Bytes peak_allocated, peak_reserved, peak_device;
  std::int64_t steps = 0;
  bool operator==(const PhaseFacts&) const = default;
};

enum class Number { kF32, kF64, kF16, kBf16, kTf32, kF8, kI8, kOther };
inline constexpr std::size_t kNumberCount = 8;

// Kernels of a step that are alike: products of matrices, convolutions as the products that they are, or passes over
// memory (all else: element-wise, normalisation, reductions, the optimizer).
struct OperatorWork {
  enum class Kind { kProduct, kConvolution, kMemory };
  Kind kind = Kind::kMemory;
  Number number = Number::kF32;             // of products
  double rows = 0, columns = 0, inner = 0;  // of one product; rows of a convolution: output pixels
  double batch = 1;                         // of products in one kernel; of a convolution: its groups
  double bytes = 0;                         // touched by one kernel
  double elements = 0;                      // that a pass loads or stores one by one; 0: it goes by vectors
  double count = 1;                         // of such kernels in a step
  bool operator==(const OperatorWork&) const = default;
};

// What one optimizer step asks of a card. `operators` are counted where the stand-ins saw them (a virtual card); the
// sums beside them are what techniques change, and tell how much of the operators is left.
struct StepWork {
  std::array<double, kNumberCount> macs{};  // multiply-adds of matmuls and convolutions, by Number
  double matmul_bytes = 0;                  // touched by those
  double other_bytes = 0;                   // touched by everything else: from allocation traffic
  double narrower = 1;                      // of other_bytes: the share that a technique left of an element's bytes
  double host_bytes = 0;                    // copied between the card and host memory, both ways together
  double launches = 0;                      // kernels
  double optimizer_launches = 0;            // part of `launches`
  double recomputed_macs = 0;               // part of `macs`: what checkpointing repeats
  double pieces = 1;                        // each operator runs so many times, on a part of its rows
  std::shared_ptr<const std::vector<OperatorWork>> operators;  // empty: nothing saw them
  bool operator==(const StepWork&) const = default;
};
double total_macs(const StepWork& work);

// What an evaluation gathers on the card, batch by batch.
struct GatheredFacts {
  std::string phase;
  std::string variable;  // of the script: "predictions"; empty when it was not found
  std::string line;      // "train.py:112 in validate"; empty when it was not found
  Bytes per_batch;
  std::int64_t batches = 0;   // of the whole pass
  bool movable = false;       // it lies where the hooks can move it to the CPU
  bool keeps_graphs = false;  // each with all that its forward left for a backward pass
  bool operator==(const GatheredFacts&) const = default;
};
Bytes sum(const GatheredFacts& gathered);

// The cross entropy with the largest logits.
struct WideLoss {
  std::int64_t rows = 0, classes = 0;
  Bytes bytes;                // of its logits, in float32
  bool is_log = false;        // it was given log-probabilities
  std::int64_t features = 0;  // of the linear layer that put them out; 0: none did
  bool operator==(const WideLoss&) const = default;
};

// A network that a library made by a name or a config.
struct NetworkFacts {
  std::string library;                    // "timm", "torchvision", "transformers"
  std::string name;                       // "resnet152"
  std::vector<std::string> smaller = {};  // of its family, the largest first
  std::int64_t weights = 0;               // about
  bool loaded = false;                    // weights of a checkpoint went in
  bool operator==(const NetworkFacts&) const = default;
};

// A network that a training step calls in eval mode, without gradients: the teacher of a distillation.
struct TeacherFacts {
  std::string class_name;
  Bytes weights;          // of its parameters
  bool is_float = false;  // in 32 bits
  bool operator==(const TeacherFacts&) const = default;
};

// What attention keeps for backward in the forward pass with most scores, queries times keys.
struct AttentionFacts {
  Bytes scores;  // kept, with what dropout makes of them
  std::int64_t calls = 0;
  Bytes of_sdpa, of_multihead;  // of the scores: see python/vramfit/contract/notes/training.py
  Bytes spared;                 // that fused kernels do not keep
  std::string eager = {};       // class of a model of transformers that attends eagerly
  std::string why_not = {};     // why it has to
  bool operator==(const AttentionFacts&) const = default;
};

// A network that is trained, and what adapters of rank 8 in its linear layers would leave to train. Numbers, not bytes.
struct LinearLayers {
  std::int64_t trained = 0, frozen = 0;  // that an optimizer has, and has not
  std::int64_t adapted = 0;              // in weights that get adapters
  std::int64_t layers = 0;               // that get adapters
  std::int64_t width = 0;                // adapters of rank 1
  std::int64_t whole = 0;                // trained as before: small layers, and the task's own
  std::int64_t halved = 0;               // in float32, that stand still and can be held in half
  bool loaded = false;                   // from a checkpoint
  bool operator==(const LinearLayers&) const = default;
};

// Convolutions of the network with most to train, whose channels could be taken out.
struct ConvolutionLayers {
  std::int64_t trained = 0;          // numbers that an optimizer has
  std::int64_t layers = 0;           // with channels to give
  std::vector<std::int64_t> sample;  // of its input; empty: it is called otherwise than with one tensor
  bool has_torch_pruning = false;    // the script's environment can import it
  bool operator==(const ConvolutionLayers&) const = default;
};

// torch.compile, in a job that trains.
struct CompilerFacts {
  std::optional<double> memory_budget;  // of what it would save for backward, the share that it may; none: too old
  bool operator==(const CompilerFacts&) const = default;
};

// A transform of torchvision's or kornia's that worked on the card before the model had the batch.
struct CardTransform {
  std::string name;  // its class
  std::string phase;
  bool operator==(const CardTransform&) const = default;
};

// Embeddings that are trained with gradients of all their rows.
struct SparseEmbeddings {
  Bytes weights;
  Bytes touched;  // of the rows that a step touches at most
  std::int64_t layers = 0;
  std::string optimizer;  // class of torch.optim
  bool same = false;      // with sparse gradients it does to all rows what it does without
  std::string why_not;    // why they can't be sparse; empty: they can
  bool operator==(const SparseEmbeddings&) const = default;
};

// Tensors of the last training steps that are still alive while an evaluation holds most.
struct KeptTrainingTensors {
  std::string phase;
  std::string line;  // of the script, that allocated most of them; may be empty
  Bytes bytes;
  bool operator==(const KeptTrainingTensors&) const = default;
};

// Graphs of past training steps that the script keeps with what they saved.
struct KeptGraphs {
  std::string variable;  // "losses"
  std::string line;      // where the script adds to it
  Bytes per_step;
  Bytes needs_without;  // on the device: what a step takes before anything has piled up
  bool operator==(const KeptGraphs&) const = default;
};

// Why the script would refuse a technique, as the hooks saw while none was applied.
struct Obstacle {
  std::string technique, reason;
  std::optional<int> loader;  // it is so for parts of this one's batches
  bool operator==(const Obstacle&) const = default;
};

struct OomFacts {
  std::string phase;
  Bytes tried, allocated, reserved;
  bool operator==(const OomFacts&) const = default;
};

struct Job {
  int device = 0;  // the card that the facts about memory are of
  std::string root_class;
  std::int64_t parameters = 0;
  Bytes parameter_bytes;
  Bytes weights_at_once;        // of those, read by modules that run at the same time; 0: not known
  bool has_batch_norm = false;  // that trains
  std::vector<LoaderFacts> loaders;
  std::vector<BlockLevel> levels;           // coarse to fine; empty when no module was seen
  std::optional<StepModules> step_modules;  // empty when no whole step was seen, or several processes share the card
  std::optional<OptimizerFacts> optimizer;
  Bytes moved;  // by optimizers, and neither parameters nor a model's: the image of a style transfer
  std::optional<KeptGradients> kept_gradients;
  PrecisionFacts precision;
  std::optional<CompilerFacts> compiler;
  bool validates_with_gradients = false;  // forwards of evaluation ran with gradients on
  std::int64_t evaluated_at_once = 0;     // samples, by the first forward of an evaluation; 0: not known
  std::optional<GatheredFacts> gathered;
  std::optional<WideLoss> wide_loss;
  std::optional<AttentionFacts> attention;
  std::optional<ConvolutionLayers> convolution_layers;
  std::optional<SparseEmbeddings> sparse_embeddings;
  std::vector<CardTransform> card_transforms;
  std::optional<LinearLayers> linear_layers;  // of the network with most to train
  std::optional<KeptTrainingTensors> kept_from_training;
  std::optional<KeptGraphs> kept_graphs;
  std::optional<TeacherFacts> teacher;  // the largest
  std::vector<std::string> advice;      // of the hooks: sentences with this job's figures
  std::vector<Obstacle> obstacles;
  std::optional<NetworkFacts> network;  // the largest of those that a library made
  std::vector<StagePeak> stage_peaks;
  // The moments of a run with each technique alone (by plan/measured_shares.h, measured_key), and what a step of it
  // asks.
  std::map<std::string, std::vector<StagePeak>> measured;
  std::map<std::string, StepWork> measured_work;
  // Every block that a run allocated: by technique, as `measured`, and under "" for the job as it is. Absent where that
  // can't be played again.
  std::map<std::string, std::shared_ptr<const AllocationStream>> streams;
  std::vector<PhaseFacts> phases;
  Bytes overhead;  // context, libraries, other processes: what the card lost before PyTorch asked
  StepWork work;
  std::optional<OomFacts> oom;  // from the run on the card itself
  bool operator==(const Job&) const = default;
};

const LoaderFacts* find_loader(const Job& job, std::string_view phase);
// Empty when none was seen.
std::string find_obstacle(const Job& job, std::string_view technique);
const PhaseFacts* find_phase(const Job& job, std::string_view phase);

}  // namespace vramfit::model

#endif
