// What only a run shows, beyond its peaks: memory that grows and who holds it, evaluations that keep activations,
// copies, contexts, inputs of different lengths. Measured by the recorder and the hooks (python/vramfit/diagnose), put
// together by src/facts; the doctor judges. Nothing here is a judgement, and a list that is empty was looked
// for and not found, unless `measured` is false.
//
// `line` is always the script's own, as the recorder spells it: "train.py:84 in train"; empty: not known.
#ifndef VRAMFIT_MODEL_RUNTIME_EVIDENCE_H
#define VRAMFIT_MODEL_RUNTIME_EVIDENCE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "model/note_records.h"

namespace vramfit::model {

using base::Bytes;

// The named thing at the end of the chain of references that keeps an object alive.
using Holder = notes::Holder;
using HolderKind = notes::HolderKind;

// What libraries start a thread for.
using ThreadRole = notes::ThreadRole;

// What a process is to the job.
enum class JobRole { kMain, kRank, kWorker, kChild };  // kWorker: of a DataLoader
inline constexpr std::array<std::string_view, 4> kJobRoleWords = {"main", "rank", "worker", "child"};
constexpr std::string_view to_string(JobRole role) { return kJobRoleWords[static_cast<std::size_t>(role)]; }

// Tensors of one line, kept by one holder.
using TensorGroup = notes::TensorGroup;

// A graph that gets longer from step to step: `total += loss`, a hidden state that is not detached.
struct GrowingGraph {
  Holder holder;  // of the tensor at its end
  std::int64_t nodes_before = 0, nodes_after = 0;
  bool counted_all = true;  // false: the count was ended by its limit
  friend bool operator==(const GrowingGraph&, const GrowingGraph&) = default;
};

struct GrowingLine {
  std::string line;
  std::string scope;  // module, where its blocks have one
  std::string stage;  // other, forward, backward, optimizer, input
  Bytes per_step;
  Bytes live;  // at the last step measured
  std::int64_t blocks_per_step = 0;
  friend bool operator==(const GrowingLine&, const GrowingLine&) = default;
};

// Memory that rises again and again, judged over the whole run.
struct Growth {
  int device = 0;
  std::string phase;            // train; validate, test: a step is a batch of one evaluation
  std::int64_t first_step = 0;  // the first that `levels` tells of
  std::vector<Bytes> levels;    // allocated at the end of steps in a row, at most 64, the last
  Bytes per_step;               // on average
  std::int64_t steps = 0;       // over which it grew
  double faster = 0;            // bytes by which each step adds more than the one before
  std::int64_t every = 1;       // steps from one rise to the next
  std::string unit = "step";    // what all of these count: step, or pass of a loop that takes none
  // The number that a loop was counted on to when it began; none: it grew from the first steps on.
  std::optional<std::int64_t> begins_at;
  bool of_peak = false;                     // what stays does not grow: what a step needs at its most does
  std::optional<std::int64_t> runs_out_at;  // the step at which the card would be full
  std::vector<GrowingLine> lines;           // most per step first
  std::vector<TensorGroup> holders;         // Python objects that outlived the step that made them
  std::vector<GrowingGraph> graphs;
  friend bool operator==(const Growth&, const Growth&) = default;
};

// The model called outside training. The worst call of each phase and root.
struct EvaluationForward {
  std::string phase, root;
  std::string line;  // that called it
  bool grad_enabled = false, inference_mode = false;
  bool module_training = false;  // model.eval() was not called
  bool has_graph = false;        // its output requires grad
  Bytes saved;                   // what the forward left allocated, without its output
  Bytes output;
  std::int64_t calls = 0;
  friend bool operator==(const EvaluationForward&, const EvaluationForward&) = default;
};

// What training still holds when an evaluation begins: neither weights, buffers nor optimizer state.
struct KeptFromTraining {
  std::string phase;  // that begins
  int device = 0;
  Bytes allocated;  // at that moment
  Bytes gradients;
  std::vector<TensorGroup> tensors;  // largest first
  friend bool operator==(const KeptFromTraining&, const KeptFromTraining&) = default;
};

// A second tensor with the same values: both lived at the end of a forward pass, and neither was changed meanwhile.
struct NeedlessCopy {
  std::string operation;   // clone, contiguous, to, cuda: "to" of one host tensor twice counts too
  std::string line;        // of the copy
  std::string first_line;  // host tensors: where it was copied the first time
  std::string shape;
  Bytes bytes;              // in one step
  std::int64_t copies = 0;  // in one step
  bool from_host = false;
  friend bool operator==(const NeedlessCopy&, const NeedlessCopy&) = default;
};

// The work between the arrival of a batch and the model's forward pass: augmentation and preparation on the card.
struct InputWork {
  int device = 0;
  std::string phase;
  Bytes at_peak;                   // its blocks that live at the phase's peak, the model's inputs left out
  Bytes inputs_at_peak;            // the model's inputs themselves
  Bytes stage_peak;                // most that its blocks held together at any moment of the stage
  bool peak_is_here = false;       // the phase's own peak lies in this stage
  std::vector<GrowingLine> lines;  // at the stage's peak; per_step is 0
  friend bool operator==(const InputWork&, const InputWork&) = default;
};

struct FirstOptimizerStep {
  int device = 0;
  std::string optimizer;                // "AdamW"
  Bytes state;                          // blocks made in the first step's optimizer stage that stayed
  Bytes peak_before, peak_after;        // allocated: up to the first step, and in the steps after it
  bool out_of_memory = false;           // the run ended in it: `state` is what was made until then
  std::optional<Bytes> expected_state;  // from the parameters and the optimizer's kind
  friend bool operator==(const FirstOptimizerStep&, const FirstOptimizerStep&) = default;
};

// One process that opened a context on one card.
struct ContextOnCard {
  int pid = 0, device = 0;
  JobRole role = JobRole::kMain;
  int rank = 0, world_size = 1;
  int local_rank = -1;
  Bytes context, libraries;
  Bytes peak_allocated;  // 0: the context is all it has there
  friend bool operator==(const ContextOnCard&, const ContextOnCard&) = default;
};

// Blocks that another thread than the main one and autograd's allocated.
struct ThreadMemory {
  int pid = 0, device = 0;
  ThreadRole role = ThreadRole::kUnread;
  Bytes peak;        // of its blocks
  std::string line;  // that allocated most
  friend bool operator==(const ThreadMemory&, const ThreadMemory&) = default;
};

struct CheckpointLoad {
  std::string line;
  std::string path;          // as the script gave it
  std::string map_location;  // "None", "cuda:0", "function"
  Bytes on_card;             // tensors it put there
  Bytes kept;                // of these alive at the end of the first step (or of the run)
  Holder holder;             // of the kept
  friend bool operator==(const CheckpointLoad&, const CheckpointLoad&) = default;
};

// Blocks at the fullest moment that are as large as tokens x vocabulary (or pixels x classes).
struct Logits {
  int device = 0;
  std::string module;        // the layer that makes them; may be empty
  std::int64_t classes = 0;  // size of its last (or channel) dimension
  std::int64_t rows = 0;     // tokens or pixels
  std::string shape;         // of the output, where the forward pass ended
  Bytes at_peak;
  std::int64_t blocks_at_peak = 0;
  std::int64_t of_4_bytes = 0;  // of those, blocks of 4 bytes an element: fp32 copies under autocast
  std::vector<std::string> lines;
  friend bool operator==(const Logits&, const Logits&) = default;
};

// A whole copy of a model's weights besides itself: an averaged model, a best state that is kept.
struct WeightCopy {
  Holder holder;  // of one of its tensors
  std::string line;
  std::int64_t tensors = 0;
  Bytes bytes;
  friend bool operator==(const WeightCopy&, const WeightCopy&) = default;
};

// N x N scores that attention wrote out.
struct AttentionScores {
  std::string line;
  std::string operation;    // softmax, scaled_dot_product_attention
  std::string shape;        // "float32 [8, 12, 1024, 1024]"
  std::int64_t length = 0;  // N
  Bytes bytes;              // of one such tensor
  std::int64_t calls = 0;   // in one forward pass
  friend bool operator==(const AttentionScores&, const AttentionScores&) = default;
};

// One step's input and what it needed. At most 512 are kept: those with the most memory.
struct StepInput {
  std::string phase;
  std::int64_t step = 0;      // of the phase, from 1
  std::int64_t elements = 0;  // in the model's inputs
  std::string shapes;         // "[8, 412] int64, [8, 412] int64"
  Bytes peak_allocated;       // within the step
  friend bool operator==(const StepInput&, const StepInput&) = default;
};

// What was on the card at the last out-of-memory error.
struct OomState {
  int device = 0;
  std::string phase, stage, scope, line;
  ThreadRole thread = ThreadRole::kUnread;  // of the main thread and autograd's: unread
  Bytes tried, allocated, reserved;
  std::int64_t train_steps = 0;       // completed before it
  std::int64_t evaluation_steps = 0;  // batches
  std::vector<TensorGroup> holders;   // what the script's variables held then, largest first
  friend bool operator==(const OomState&, const OomState&) = default;
};

// Python's collector, asked to free what no name leads to while memory grew.
struct Collector {
  bool is_on = true;  // else it was not asked, and cycles of objects stay
  Bytes freed;        // the most at once
  std::string line;   // that made most of it
  friend bool operator==(const Collector&, const Collector&) = default;
};

struct RuntimeEvidence {
  bool measured = false;  // the run was diagnosed; otherwise only what every run records is here
  // Training steps of the process that took most, before any was left out: what growth was judged by.
  std::int64_t judged_steps = 0;
  std::int64_t judged_passes = 0;  // of a loop without steps, where they could be counted
  std::optional<Collector> collector;
  std::vector<Growth> growth;
  std::vector<EvaluationForward> evaluations;
  std::vector<KeptFromTraining> kept_from_training;
  std::vector<NeedlessCopy> copies;
  std::vector<InputWork> input_work;
  std::vector<FirstOptimizerStep> first_steps;
  std::vector<ContextOnCard> contexts;
  std::vector<ThreadMemory> threads;
  std::vector<CheckpointLoad> checkpoints;
  std::vector<WeightCopy> weight_copies;
  std::vector<Logits> logits;
  std::vector<AttentionScores> attention;
  std::vector<StepInput> inputs;
  std::optional<OomState> oom;
  bool retain_graph = false, create_graph = false;  // a backward() was called so
  std::string retain_graph_line;
  friend bool operator==(const RuntimeEvidence&, const RuntimeEvidence&) = default;
};

}  // namespace vramfit::model

#endif
