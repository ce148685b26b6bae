// Made by tools/generate_contract from python/vramfit/contract: change that, not this.
#ifndef VRAMFIT_MODEL_NOTES_H
#define VRAMFIT_MODEL_NOTES_H

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"

namespace vramfit::model {

namespace notes {

using Scalar = std::variant<std::monostate, bool, double, std::string>;

// What process this is, before its first other note.
struct Process {
  std::string torch;
  std::string cuda;
  std::string python;
  std::vector<std::string> argv;
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
  std::int64_t local_rank = -1;  // without a launcher
  std::string role;  // `main`, or `child` for one that multiprocessing started
  std::int64_t pid = 0;
  friend bool operator==(const Process&, const Process&) = default;
};

// When the card is first touched: by then a launcher's child knows which rank it is.
struct Rank {
  std::int64_t rank = 0;
  std::int64_t local_rank = -1;
  std::int64_t world_size = 1;
  friend bool operator==(const Rank&, const Rank&) = default;
};

// What a process turned out to be.
struct Role {
  std::string role;  // `worker` of a data loader
  friend bool operator==(const Role&, const Role&) = default;
};

// A thread that libraries started for a purpose.
struct Thread {
  std::string role;  // `pin`: it pins batches
  std::int64_t thread = 0;  // its id
  friend bool operator==(const Thread&, const Thread&) = default;
};

// The recorder can't read the frames of this version of Python, and finds no lines.
struct LinesUnknown {
  std::string python;
  friend bool operator==(const LinesUnknown&, const LinesUnknown&) = default;
};

// Events after this are missing; the recorder writes it itself.
struct RecordingStopped {
  std::string text;
  bool limit = false;  // the recording was as long as it may be
  friend bool operator==(const RecordingStopped&, const RecordingStopped&) = default;
};

// One of our hooks failed and was left out.
struct HookFailed {
  std::string where;
  std::string type;
  std::string message;
  std::string at;
  friend bool operator==(const HookFailed&, const HookFailed&) = default;
};

// A private name that a release of a library has no more: what a hook does with it is left out.
struct NameGone {
  std::string library;
  std::string version;
  std::string name;
  std::string lost;  // in plain words: "loaders are not cut"
  friend bool operator==(const NameGone&, const NameGone&) = default;
};

// A frame of a traceback.
struct StackFrame {
  std::string file;
  std::int64_t line = 0;
  std::string function;
  std::string code;
  friend bool operator==(const StackFrame&, const StackFrame&) = default;
};

// An uncaught exception that is not about memory.
struct Error {
  std::string type;
  std::string message;
  std::vector<StackFrame> stack;  // innermost last
  bool after_cut = false;  // an evaluation had been cut
  bool after_read = false;  // values that were not computed had been read
  friend bool operator==(const Error&, const Error&) = default;
};

// How far a model had come that was on its way to the card.
struct Loading {
  std::string how;
  std::string root;
  std::string module;
  base::Bytes on_card_bytes;
  std::optional<base::Bytes> to_come_bytes;
  friend bool operator==(const Loading&, const Loading&) = default;
};

// An out-of-memory error that reached the top of the script.
struct Oom {
  std::string message;
  std::string phase;
  std::vector<StackFrame> stack;  // innermost last
  std::optional<Loading> loading;
  friend bool operator==(const Oom&, const Oom&) = default;
};

// Something of the run was left out.
struct Cut {
  std::string what;  // `loader`, `repeated`, `steps`, `budget`, `counted`, `stopped`, `saves`, `uploads`
  std::string text;  // for the user
  std::optional<std::int64_t> loader;
  std::optional<std::int64_t> kept;
  std::optional<std::int64_t> of;
  friend bool operator==(const Cut&, const Cut&) = default;
};

// Why what was left out may use more memory.
struct Open {
  std::string text;
  friend bool operator==(const Open&, const Open&) = default;
};

// How far a run with a budget came.
struct RunOn {
  std::int64_t count = 0;  // batches and steps in full
  std::int64_t peak_at = 0;  // the count when the peak last rose
  double seconds = 0;
  bool whole = false;
  std::optional<std::int64_t> steps_in_full;  // optimizer steps before the first cut
  friend bool operator==(const RunOn&, const RunOn&) = default;
};

// How much of a data set was looked at beside the run.
struct Looked {
  std::int64_t loader = 0;
  std::int64_t samples = 0;
  std::optional<std::int64_t> of;
  bool differ = false;
  friend bool operator==(const Looked&, const Looked&) = default;
};

// Lines of a file, both counted.
struct LineRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  friend bool operator==(const LineRange&, const LineRange&) = default;
};

// A part of a line.
struct LinePart {
  std::int64_t line = 0;
  std::int64_t column = 0;
  friend bool operator==(const LinePart&, const LinePart&) = default;
};

// Lines of the script's own that were not reached.
struct UnreachedLines {
  std::string file;
  std::int64_t line = 0;
  std::int64_t last_line = 0;
  std::string function;
  std::string place;
  std::string code;
  std::string when;  // the test that they wait for
  std::optional<std::string> why;  // in words, where the test alone would not tell
  std::string card = "unknown";  // whether they use it: `yes`, `no`, `unknown`
  std::int64_t column = 0;  // from 1, for a part of a line that was executed
  friend bool operator==(const UnreachedLines&, const UnreachedLines&) = default;
};

// Which lines of the script's own files were run; once, at the end of a main process.
struct Coverage {
  bool known = false;
  bool cut = false;
  std::map<std::string, std::vector<LineRange>, std::less<>> executed;  // by file
  std::map<std::string, std::vector<LinePart>, std::less<>> parts;  // by file: parts of lines that were run
  std::vector<UnreachedLines> unreached;
  std::int64_t lines_run = 0;
  std::int64_t lines = 0;  // how many there are
  friend bool operator==(const Coverage&, const Coverage&) = default;
};

// A size, a branch or a number was read from device memory and rests on values that were not computed.
struct DataRead {
  std::string what;
  std::string line;
  std::int64_t count = 1;
  friend bool operator==(const DataRead&, const DataRead&) = default;
};

// Under `--values cpu`, an operator whose values are not exact.
struct Values {
  std::string function;  // of aten, or who computes it
  std::string text;
  friend bool operator==(const Values&, const Values&) = default;
};

// Something that a real card could do otherwise.
struct Assumed {
  std::string text;
  friend bool operator==(const Assumed&, const Assumed&) = default;
};

// A tensor of a batch.
struct TensorShape {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string dtype;
  friend bool operator==(const TensorShape&, const TensorShape&) = default;
};

// A data loader, by the order in which loaders were first iterated; the later note counts.
struct Loader {
  std::int64_t ordinal = 0;
  std::optional<std::int64_t> batch_size;
  std::optional<std::int64_t> batches;
  std::optional<std::int64_t> samples;
  std::optional<std::int64_t> num_workers;
  std::optional<bool> pin_memory;
  bool shuffled = false;
  std::string phase;
  std::vector<TensorShape> shapes;
  friend bool operator==(const Loader&, const Loader&) = default;
};

// What the model was given.
struct StepInput {
  std::string phase;
  std::int64_t step = 0;
  std::int64_t elements = 0;
  std::string shapes;
  friend bool operator==(const StepInput&, const StepInput&) = default;
};

// A module without parameters that ran before the model.
struct InputModule {
  std::string name;
  std::string phase;
  friend bool operator==(const InputModule&, const InputModule&) = default;
};

// A part of a model worth a technique of its own.
struct ModuleBlock {
  std::string name;
  std::string class_name;
  std::int64_t parameters = 0;
  std::int64_t repeated = 0;  // siblings of its class
  friend bool operator==(const ModuleBlock&, const ModuleBlock&) = default;
};

// A model that was called.
struct RootModule {
  std::string name;
  std::string class_name;
  std::int64_t parameters = 0;
  base::Bytes parameter_bytes;
  bool has_batch_norm = false;
  std::vector<ModuleBlock> blocks;
  friend bool operator==(const RootModule&, const RootModule&) = default;
};

// What a module's forward leaves on the card.
struct ModuleMemory {
  std::string name;
  std::string class_name;
  base::Bytes saved_bytes;  // activations its forward left alive
  base::Bytes output_bytes;  // of those, what it returned
  std::int64_t calls = 0;
  friend bool operator==(const ModuleMemory&, const ModuleMemory&) = default;
};

// An optimizer that stepped.
struct Optimizer {
  std::string class_name;
  std::map<std::string, Scalar, std::less<>> options;
  std::int64_t parameters = 0;  // their elements
  std::int64_t tensors = 0;
  base::Bytes largest_bytes;  // of one parameter
  base::Bytes state_bytes;
  friend bool operator==(const Optimizer&, const Optimizer&) = default;
};

// Before an optimizer's first step.
struct OptimizerBegins {
  std::string class_name;
  std::optional<base::Bytes> expected_bytes;  // of its state; None for a class that is not known
  friend bool operator==(const OptimizerBegins&, const OptimizerBegins&) = default;
};

// `zero_grad(set_to_none=False)`: gradients are filled with zeros and keep their memory until the next step.
struct GradientsKept {
  std::string line;
  bool after_forward = false;  // the forward pass was over: it holds them whether they are kept or not
  friend bool operator==(const GradientsKept&, const GradientsKept&) = default;
};

// The precision of the training, again whenever something about it is learnt.
struct Precision {
  std::optional<std::string> autocast;  // its type
  bool scaler = false;
  bool checkpointing = false;
  bool compiled = false;
  bool tf32 = false;
  bool cudnn_benchmark = false;
  friend bool operator==(const Precision&, const Precision&) = default;
};

// Whether the forwards of an evaluation ran with gradients on.
struct Evaluation {
  std::string phase;
  bool gradients = false;
  friend bool operator==(const Evaluation&, const Evaluation&) = default;
};

// What comes out of the model.
struct Output {
  std::string phase;
  std::vector<std::int64_t> shape;
  std::string dtype;
  base::Bytes bytes;
  friend bool operator==(const Output&, const Output&) = default;
};

// The widest layer of a model that ends in many classes.
struct WideLayer {
  std::string name;
  std::int64_t classes = 0;
  friend bool operator==(const WideLayer&, const WideLayer&) = default;
};

// A backward pass that keeps its graph.
struct GraphKept {
  std::string option;  // `retain_graph`, `create_graph`
  std::string line;
  friend bool operator==(const GraphKept&, const GraphKept&) = default;
};

// Memory still grew when the run was ended. From `phase` on: of an evaluation that gathers on the card.
struct Growth {
  std::string text;
  std::vector<std::int64_t> peaks;
  std::string phase;
  base::Bytes bytes_per_batch;
  std::int64_t batches = 0;  // of a pass
  std::string variable;
  std::string line;
  bool movable = false;
  friend bool operator==(const Growth&, const Growth&) = default;
};

// Memory rose in every round of a loop that was counted on, as it had not before.
struct LateGrowth {
  std::string counter;
  std::int64_t value = 0;  // of the counter
  std::int64_t steps = 0;  // optimizer steps before
  std::int64_t rounds = 0;
  base::Bytes bytes_per_round;
  friend bool operator==(const LateGrowth&, const LateGrowth&) = default;
};

// A technique of the plan was applied.
struct PlanApplied {
  std::string id;
  std::string text;
  friend bool operator==(const PlanApplied&, const PlanApplied&) = default;
};

// A technique of the plan can't be applied to this script.
struct PlanRefused {
  std::string id;
  std::string text;
  friend bool operator==(const PlanRefused&, const PlanRefused&) = default;
};

// What an applied technique did to the training beyond its promise (steps left out).
struct PlanEffect {
  std::string id;
  std::string text;
  friend bool operator==(const PlanEffect&, const PlanEffect&) = default;
};

// By the own count of JAX or TensorFlow; once, at the end.
struct FrameworkMemory {
  std::string framework;
  std::string version;
  std::int64_t device = 0;
  base::Bytes peak_bytes;  // in use
  std::optional<base::Bytes> pool_bytes;  // that it took for itself
  friend bool operator==(const FrameworkMemory&, const FrameworkMemory&) = default;
};

// By the own profiling of a server of language models.
struct ServerMemory {
  std::string framework;  // `vLLM`
  std::string version;
  std::int64_t device = 0;
  std::optional<base::Bytes> weights_bytes;
  std::optional<base::Bytes> activation_bytes;
  std::optional<base::Bytes> outside_bytes;  // of PyTorch's allocator
  std::optional<base::Bytes> graph_bytes;
  std::optional<base::Bytes> kv_cache_bytes;
  std::optional<std::int64_t> kv_tokens;
  friend bool operator==(const ServerMemory&, const ServerMemory&) = default;
};

// The named thing at the end of the chain of references that keeps a tensor alive.
struct Holder {
  std::string kind = "unknown";
  std::string name;  // as the script would write it: "losses[0]", "self.history['loss'][-1]"
  std::string where;  // local, closure, generator: the function, "train.py:84 in train"; global: the module
  std::string container;  // type of what holds it directly: "list", "dict", "deque"
  std::int64_t length = -1;  // how much that container holds; -1: it has no length
  std::vector<std::string> chain;  // from the named thing to the tensor: "global losses", "list of 12", "Tensor"
  friend bool operator==(const Holder&, const Holder&) = default;
};

// Tensors that are alike, kept by one holder. `address` and the note's `at_ns` find a block of theirs.
struct HeldTensors {
  Holder holder;
  std::uint64_t address = 0;
  std::string shape;  // of the largest: "float32 [64, 1000]"
  std::int64_t tensors = 0;
  base::Bytes bytes;  // storages counted once
  bool has_graph = false;  // with a grad_fn: its graph, and what that saved, lives as long
  std::string operation;  // the grad_fn's name, "NllLossBackward0"
  std::string line;  // that allocated them; the recording knows better
  friend bool operator==(const HeldTensors&, const HeldTensors&) = default;
};

// An autograd graph that gets longer.
struct HeldGraph {
  Holder holder;
  std::int64_t nodes_before = 0;
  std::int64_t nodes_after = 0;
  bool counted_all = false;
  friend bool operator==(const HeldGraph&, const HeldGraph&) = default;
};

// Causes are looked for: the notes below may follow.
struct Diagnosed {
  friend bool operator==(const Diagnosed&, const Diagnosed&) = default;
};

// What outlives the step that made it.
struct KeptAcrossSteps {
  std::string phase;
  std::int64_t step = 0;
  std::int64_t at_ns = 0;  // CLOCK_MONOTONIC, here and below
  std::vector<HeldTensors> tensors;
  std::vector<HeldGraph> graphs;
  friend bool operator==(const KeptAcrossSteps&, const KeptAcrossSteps&) = default;
};

// What of the training is on the card when an evaluation begins.
struct KeptFromTraining {
  std::string phase;  // that begins
  std::int64_t at_ns = 0;
  base::Bytes allocated_bytes;
  base::Bytes gradient_bytes;
  std::vector<HeldTensors> tensors;
  friend bool operator==(const KeptFromTraining&, const KeptFromTraining&) = default;
};

// What lives when memory runs out.
struct HeldAtOom {
  std::string phase;
  std::int64_t device = 0;
  std::int64_t at_ns = 0;
  std::vector<HeldTensors> tensors;
  friend bool operator==(const HeldAtOom&, const HeldAtOom&) = default;
};

// A forward of an evaluation, and what it leaves on the card.
struct EvaluationForward {
  std::string phase;
  std::string root;
  std::string line;
  bool grad_enabled = false;
  bool inference_mode = false;
  bool module_training = false;
  bool has_graph = false;
  base::Bytes saved_bytes;
  base::Bytes output_bytes;
  std::int64_t calls = 0;
  friend bool operator==(const EvaluationForward&, const EvaluationForward&) = default;
};

// Copies of the same tensor on the card.
struct NeedlessCopy {
  std::string operation;
  std::string line;
  std::string first_line;
  std::string shape;
  base::Bytes bytes;
  std::int64_t copies = 0;
  bool from_host = false;
  friend bool operator==(const NeedlessCopy&, const NeedlessCopy&) = default;
};

// Weights that are on the card a second time.
struct WeightCopy {
  std::int64_t step = 0;
  std::int64_t at_ns = 0;
  std::uint64_t address = 0;
  Holder holder;
  std::int64_t tensors = 0;
  base::Bytes bytes;
  friend bool operator==(const WeightCopy&, const WeightCopy&) = default;
};

// A checkpoint that was read onto the card; again after the first step, with what was kept of it.
struct CheckpointLoad {
  std::string line;
  std::string path;
  std::string map_location;
  base::Bytes on_card_bytes;
  base::Bytes kept_bytes;
  bool final = false;
  std::optional<Holder> holder;
  friend bool operator==(const CheckpointLoad&, const CheckpointLoad&) = default;
};

// Attention that writes its scores out.
struct AttentionScores {
  std::string operation;
  std::string line;
  std::string shape;
  std::int64_t length = 0;
  base::Bytes bytes;
  std::int64_t calls = 0;
  friend bool operator==(const AttentionScores&, const AttentionScores&) = default;
};

// Modules are watched: the notes below may follow.
struct ModulesWatched {
  friend bool operator==(const ModulesWatched&, const ModulesWatched&) = default;
};

// A module with what is its own: what lies in modules below it is theirs.
struct ListedModule {
  std::string name;
  std::string class_name;
  std::int64_t parameters = 0;
  base::Bytes parameter_bytes;
  base::Bytes buffer_bytes;
  friend bool operator==(const ListedModule&, const ListedModule&) = default;
};

// The modules of a model, as in named_modules(); models are numbered from 0 on.
struct ModuleList {
  std::int64_t root = 0;
  std::string prefix;
  std::vector<ListedModule> modules;
  friend bool operator==(const ModuleList&, const ModuleList&) = default;
};

// One call of a module.
struct TraceFrame {
  std::int64_t module = 0;  // -1: one that the model does not list
  std::int64_t around = 0;  // the frame it was called in, or -1
  std::int64_t began_ns = 0;
  std::int64_t ended_ns = 0;
  base::Bytes output_bytes;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  friend bool operator==(const TraceFrame&, const TraceFrame&) = default;
};

// One operator; storages are places in `sizes`.
struct TraceOperator {
  std::int64_t frame = 0;
  std::int64_t name = 0;  // its place in `names`
  std::vector<std::int64_t> reads;
  std::vector<std::int64_t> writes;
  double forward_flops = 0;
  double backward_flops = 0;
  std::int64_t number = 0;  // enum vf_dtype of its arithmetic
  double touched_bytes = 0;
  friend bool operator==(const TraceOperator&, const TraceOperator&) = default;
};

// A storage that the forward made and that lived at its end, with its block's size.
struct TraceAlive {
  std::int64_t storage = 0;
  base::Bytes bytes;
  friend bool operator==(const TraceAlive&, const TraceAlive&) = default;
};

// A tensor that the model returned.
struct TraceOutput {
  std::int64_t storage = 0;  // -1: not on a card
  std::string name;  // the key it was under, where there was one
  base::Bytes bytes;
  friend bool operator==(const TraceOutput&, const TraceOutput&) = default;
};

// One forward of a model, as calls and operators.
struct ModuleTrace {
  std::int64_t root = 0;
  std::string phase;
  std::int64_t device = 0;
  bool sees_operators = false;  // False: the model is compiled
  bool cut = false;  // too many operators: the last are missing
  std::vector<TraceFrame> frames;
  std::vector<std::string> names;
  std::vector<TraceOperator> operators;
  std::vector<TraceAlive> alive;
  std::vector<base::Bytes> sizes;  // of storages
  std::vector<std::int64_t> inputs;
  std::vector<TraceOutput> outputs;
  friend bool operator==(const ModuleTrace&, const ModuleTrace&) = default;
};

// Bytes of one module.
struct ModuleBytes {
  std::int64_t root = 0;
  std::int64_t module = 0;
  base::Bytes bytes;
  friend bool operator==(const ModuleBytes&, const ModuleBytes&) = default;
};

// Just before an optimizer steps, when all gradients are there.
struct ModuleGradients {
  std::vector<ModuleBytes> bytes;
  friend bool operator==(const ModuleGradients&, const ModuleGradients&) = default;
};

// State of optimizers.
struct ModuleStates {
  std::vector<ModuleBytes> bytes;
  friend bool operator==(const ModuleStates&, const ModuleStates&) = default;
};

// An optimizer step begins.
struct TrainingStep {
  std::int64_t optimizer = 0;
  std::int64_t step = 0;
  std::int64_t samples = 0;  // that went through backward by then
  double data = 0;  // the sum of their numbers
  std::optional<double> weights;  // at the first step: the sum of the sampled weights
  std::vector<std::map<std::string, double, std::less<>>> options;  // of each group
  friend bool operator==(const TrainingStep&, const TrainingStep&) = default;
};

// Values of a tensor, evenly spread: up to 64, of an output 2048.
struct TrainingTensor {
  std::string what;
  std::string index;
  std::vector<double> values;
  friend bool operator==(const TrainingTensor&, const TrainingTensor&) = default;
};

// The steps to compare are over.
struct TrainingEnd {
  std::int64_t steps = 0;
  std::int64_t samples = 0;
  friend bool operator==(const TrainingEnd&, const TrainingEnd&) = default;
};

// A memory snapshot of the run.
struct Snapshot {
  std::string file;  // in the run folder
  std::string name;  // of the file that the script dumps it to
  bool by_script = false;
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

}  // namespace notes

// All notes of one process, those of a kind in the order in which they were written.
struct Notes {
  std::vector<notes::Process> process;
  std::vector<notes::Rank> rank;
  std::vector<notes::Role> role;
  std::vector<notes::Thread> thread;
  std::vector<notes::LinesUnknown> lines_unknown;
  std::vector<notes::RecordingStopped> recording_stopped;
  std::vector<notes::HookFailed> hook_failed;
  std::vector<notes::NameGone> name_gone;
  std::vector<notes::Error> error;
  std::vector<notes::Oom> oom;
  std::vector<notes::Cut> cut;
  std::vector<notes::Open> open;
  std::vector<notes::RunOn> run_on;
  std::vector<notes::Looked> looked;
  std::vector<notes::Coverage> coverage;
  std::vector<notes::DataRead> data_read;
  std::vector<notes::Values> values;
  std::vector<notes::Assumed> assumed;
  std::vector<notes::Loader> loader;
  std::vector<notes::StepInput> step_input;
  std::vector<notes::InputModule> input_module;
  std::vector<notes::RootModule> root_module;
  std::vector<notes::ModuleMemory> module_memory;
  std::vector<notes::Optimizer> optimizer;
  std::vector<notes::OptimizerBegins> optimizer_begins;
  std::vector<notes::GradientsKept> gradients_kept;
  std::vector<notes::Precision> precision;
  std::vector<notes::Evaluation> evaluation;
  std::vector<notes::Output> output;
  std::vector<notes::WideLayer> wide_layer;
  std::vector<notes::GraphKept> graph_kept;
  std::vector<notes::Growth> growth;
  std::vector<notes::LateGrowth> late_growth;
  std::vector<notes::PlanApplied> plan_applied;
  std::vector<notes::PlanRefused> plan_refused;
  std::vector<notes::PlanEffect> plan_effect;
  std::vector<notes::FrameworkMemory> framework_memory;
  std::vector<notes::ServerMemory> server_memory;
  std::vector<notes::Diagnosed> diagnosed;
  std::vector<notes::KeptAcrossSteps> kept_across_steps;
  std::vector<notes::KeptFromTraining> kept_from_training;
  std::vector<notes::HeldAtOom> held_at_oom;
  std::vector<notes::EvaluationForward> evaluation_forward;
  std::vector<notes::NeedlessCopy> needless_copy;
  std::vector<notes::WeightCopy> weight_copy;
  std::vector<notes::CheckpointLoad> checkpoint_load;
  std::vector<notes::AttentionScores> attention_scores;
  std::vector<notes::ModulesWatched> modules_watched;
  std::vector<notes::ModuleList> module_list;
  std::vector<notes::ModuleTrace> module_trace;
  std::vector<notes::ModuleGradients> module_gradients;
  std::vector<notes::ModuleStates> module_states;
  std::vector<notes::TrainingStep> training_step;
  std::vector<notes::TrainingTensor> training_tensor;
  std::vector<notes::TrainingEnd> training_end;
  std::vector<notes::Snapshot> snapshot;
};

}  // namespace vramfit::model

#endif
