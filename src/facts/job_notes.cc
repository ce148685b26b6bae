// The part of a job that the Python hooks know: loaders, modules, optimizer, precision.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "facts/block_levels.h"
#include "facts/job_builder.h"
#include "facts/recordings.h"

namespace vramfit::facts {
namespace {

using base::Bytes;
namespace notes = model::notes;

std::optional<bool> flag_in(const notes::Optimizer& note, const char* option) {
  const auto found = note.options.find(option);
  const bool* flag = found != note.options.end() ? std::get_if<bool>(&found->second) : nullptr;
  return flag != nullptr ? std::optional(*flag) : std::nullopt;
}

class NoteReader {
 public:
  explicit NoteReader(model::Job& job) : job_(job) {}

  void apply(const model::Notes& notes) {
    for (const auto& loader : notes.loader) apply_loader(loader);
    for (const auto& root : notes.root_module) apply_root(root);
    for (const auto& module : notes.module_memory) apply_module(module);
    for (const auto& optimizer : notes.optimizer) apply_optimizer(optimizer);
    for (const auto& precision : notes.precision) apply_precision(precision);
    for (const auto& evaluation : notes.evaluation) {
      job_.validates_with_gradients |= evaluation.gradients;
      job_.evaluated_at_once = std::max(job_.evaluated_at_once, evaluation.samples);
    }
    for (const auto& kept : notes.graphs_kept) apply_kept_graphs(kept);
    for (const auto& kept : notes.gradients_kept) job_.kept_gradients = {kept.line, kept.after_forward};
    for (const auto& growth : notes.growth) apply_growth(growth);
    for (const auto& loss : notes.wide_loss) apply_wide_loss(loss);
    for (const auto& made : notes.network_made) apply_network(made);
    for (const auto& teacher : notes.teacher) apply_teacher(teacher);
    for (const auto& kept : notes.attention_kept) apply_attention(kept);
    for (const auto& found : notes.plan_obstacle) apply_obstacle(found);
    for (const auto& advice : notes.advice) job_.advice.push_back(advice.text);
    for (const auto& layers : notes.linear_layers) apply_linear_layers(layers);
    for (const auto& layers : notes.convolution_layers) apply_convolution_layers(layers);
    for (const auto& transform : notes.card_transform) {
      job_.card_transforms.push_back({transform.name, transform.phase});
    }
    for (const auto& compiled : notes.compiled) job_.compiler = model::CompilerFacts{compiled.memory_budget};
    for (const auto& embeddings : notes.sparse_embeddings) apply_sparse_embeddings(embeddings);
  }

  void finish() {
    for (const auto& loader : loaders_) job_.loaders.push_back(loader.second);
    std::erase_if(modules_, [](const model::ModuleBlock& block) { return block.name.empty(); });
    job_.levels = build_levels(modules_);
  }

 private:
  void apply_loader(const notes::Loader& note) {
    model::LoaderFacts facts;
    facts.ordinal = static_cast<int>(note.ordinal);
    facts.batch_size = note.batch_size.value_or(0);
    facts.batches = note.batches.value_or(0);
    facts.samples = note.samples.value_or(0);
    facts.phase = note.phase;
    facts.shapes = note.shapes;
    loaders_[facts.ordinal] = std::move(facts);
  }

  void apply_wide_loss(const notes::WideLoss& note) {
    if (note.classes <= 0 || note.rows <= 0) return;
    if (job_.wide_loss && job_.wide_loss->bytes >= note.bytes) return;
    job_.wide_loss = {note.rows, note.classes, note.bytes, note.is_log, note.features};
  }

  void apply_obstacle(const notes::PlanObstacle& note) {
    model::Obstacle& found = job_.obstacles.emplace_back();
    found.technique = note.id;
    found.reason = note.text;
    if (note.loader) found.loader = static_cast<int>(*note.loader);
  }

  void apply_teacher(const notes::Teacher& note) {
    if (job_.teacher && job_.teacher->weights >= note.bytes) return;
    job_.teacher = model::TeacherFacts{note.class_name, note.bytes, note.is_float};
  }

  void apply_attention(const notes::AttentionKept& note) {
    const base::Bytes seen = note.scores + note.spared;
    if (job_.attention && job_.attention->scores + job_.attention->spared >= seen) return;
    job_.attention = model::AttentionFacts{note.scores, note.calls, note.of_sdpa, note.of_multihead,
                                           note.spared, note.eager, note.why_not};
  }

  void apply_network(const notes::NetworkMade& note) {
    if (job_.network && job_.network->weights >= note.weights) return;
    job_.network = model::NetworkFacts{note.library, note.name, note.smaller, note.weights, note.loaded};
  }

  void apply_linear_layers(const notes::LinearLayers& note) {
    if (job_.linear_layers && job_.linear_layers->trained >= note.trained) return;
    job_.linear_layers = {note.trained, note.frozen, note.adapted, note.layers,
                          note.width,   note.whole,  note.halved,  note.loaded};
  }

  void apply_convolution_layers(const notes::ConvolutionLayers& note) {
    if (job_.convolution_layers && job_.convolution_layers->trained >= note.trained) return;
    job_.convolution_layers = {note.trained, note.layers, note.sample, note.torch_pruning};
  }

  void apply_sparse_embeddings(const notes::SparseEmbeddings& note) {
    if (job_.sparse_embeddings && job_.sparse_embeddings->weights >= note.bytes) return;
    job_.sparse_embeddings = {note.bytes, note.touched_bytes, note.layers, note.optimizer, note.same, note.why_not};
  }

  // Losses are modules that the script calls, as models are. The root is the one with most parameters.
  void apply_root(const notes::RootModule& note) {
    job_.has_batch_norm = job_.has_batch_norm || note.has_batch_norm;  // any model's
    if (!job_.root_class.empty() && note.parameters <= job_.parameters) return;
    job_.root_class = note.class_name;
    job_.parameters = note.parameters;
    job_.parameter_bytes = note.parameter_bytes;
    job_.weights_at_once = note.at_once_bytes;
  }

  void apply_module(const notes::ModuleMemory& note) {
    model::ModuleBlock block;
    block.name = note.name;
    block.class_name = note.class_name;
    block.saved = note.saved_bytes;
    block.output = std::min(note.output_bytes, block.saved);
    const auto known = std::ranges::find(modules_, block.name, &model::ModuleBlock::name);
    if (known == modules_.end()) {
      modules_.push_back(std::move(block));
    } else if (block.saved > known->saved) {
      *known = std::move(block);
    }
  }

  void apply_optimizer(const notes::Optimizer& note) {
    job_.moved += note.moved_bytes;
    model::OptimizerFacts facts;
    facts.class_name = note.class_name;
    facts.state = note.state_bytes;
    facts.largest = note.largest_bytes;
    facts.factored = note.factored_bytes;
    facts.has_bitsandbytes = note.bitsandbytes;
    facts.foreach = flag_in(note, "foreach");
    facts.fused = flag_in(note, "fused");
    if (!job_.optimizer || facts.state >= job_.optimizer->state) job_.optimizer = std::move(facts);
  }

  // If several evaluations gather outputs, the one that gathers most is kept.
  void apply_growth(const notes::Growth& note) {
    if (note.bytes_per_batch.count() <= 0 || note.batches <= 0) return;
    model::GatheredFacts facts;
    facts.phase = note.phase.value_or("");
    facts.variable = note.variable;
    facts.line = note.line;
    facts.per_batch = note.bytes_per_batch;
    facts.batches = note.batches;
    facts.movable = note.movable;
    facts.keeps_graphs = note.graphs;
    if (!job_.gathered || sum(facts) > sum(*job_.gathered)) job_.gathered = std::move(facts);
  }

  void apply_kept_graphs(const notes::GraphsKept& note) {
    if (job_.kept_graphs && job_.kept_graphs->per_step >= note.bytes_per_step) return;
    job_.kept_graphs = model::KeptGraphs{note.variable, note.line, note.bytes_per_step, {}};
  }

  void apply_precision(const notes::Precision& note) {
    model::PrecisionFacts& facts = job_.precision;
    if (note.autocast && !note.autocast->empty()) facts.autocast = *note.autocast;
    facts.scaler = facts.scaler || note.scaler;
    facts.checkpointing = facts.checkpointing || note.checkpointing;
    facts.compiled = facts.compiled || note.compiled;
    facts.tf32 = facts.tf32 || note.tf32;
  }

  model::Job& job_;
  std::map<int, model::LoaderFacts> loaders_;
  std::vector<model::ModuleBlock> modules_;
};

}  // namespace

void read_notes(const RunFacts& facts, model::Job& job) {
  NoteReader reader(job);
  for (const model::Recording& recording : recordings_of(facts)) reader.apply(recording.notes);
  reader.finish();
}

}  // namespace vramfit::facts
