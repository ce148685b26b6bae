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

std::optional<bool> flag_in(const notes::Optimizer& told, const char* option) {
  const auto found = told.options.find(option);
  const bool* flag = found != told.options.end() ? std::get_if<bool>(&found->second) : nullptr;
  return flag != nullptr ? std::optional(*flag) : std::nullopt;
}

bool is_batch_norm(std::string_view class_name) {
  return class_name.find("BatchNorm") != std::string_view::npos && class_name.find("Frozen") == std::string_view::npos;
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
    for (const auto& evaluation : notes.evaluation) job_.validates_with_gradients |= evaluation.gradients;
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
    for (const auto& embeddings : notes.sparse_embeddings) apply_sparse_embeddings(embeddings);
  }

  void finish() {
    for (const auto& loader : loaders_) job_.loaders.push_back(loader.second);
    std::erase_if(modules_, [](const model::ModuleBlock& block) { return block.name.empty(); });
    job_.levels = build_levels(modules_);
  }

 private:
  void apply_loader(const notes::Loader& told) {
    model::LoaderFacts facts;
    facts.ordinal = static_cast<int>(told.ordinal);
    facts.batch_size = told.batch_size.value_or(0);
    facts.batches = told.batches.value_or(0);
    facts.samples = told.samples.value_or(0);
    facts.phase = told.phase;
    facts.shapes = told.shapes;
    loaders_[facts.ordinal] = std::move(facts);
  }

  void apply_wide_loss(const notes::WideLoss& told) {
    if (told.classes <= 0 || told.rows <= 0) return;
    if (job_.wide_loss && job_.wide_loss->bytes >= told.bytes) return;
    job_.wide_loss = {told.rows, told.classes, told.bytes, told.is_log, told.features};
  }

  void apply_obstacle(const notes::PlanObstacle& told) {
    model::Obstacle& found = job_.obstacles.emplace_back();
    found.technique = told.id;
    found.reason = told.text;
    if (told.loader) found.loader = static_cast<int>(*told.loader);
  }

  void apply_teacher(const notes::Teacher& told) {
    if (job_.teacher && job_.teacher->weights >= told.bytes) return;
    job_.teacher = model::TeacherFacts{told.class_name, told.bytes, told.is_float};
  }

  void apply_attention(const notes::AttentionKept& told) {
    const base::Bytes seen = told.scores + told.spared;
    if (job_.attention && job_.attention->scores + job_.attention->spared >= seen) return;
    job_.attention = model::AttentionFacts{told.scores, told.calls, told.of_sdpa, told.of_multihead,
                                           told.spared, told.eager, told.why_not};
  }

  void apply_network(const notes::NetworkMade& told) {
    if (job_.network && job_.network->weights >= told.weights) return;
    job_.network = model::NetworkFacts{told.library, told.name, told.smaller, told.weights, told.loaded};
  }

  void apply_linear_layers(const notes::LinearLayers& told) {
    if (job_.linear_layers && job_.linear_layers->trained >= told.trained) return;
    job_.linear_layers = {told.trained, told.frozen, told.adapted, told.layers,
                          told.width,   told.whole,  told.halved,  told.loaded};
  }

  void apply_convolution_layers(const notes::ConvolutionLayers& told) {
    if (job_.convolution_layers && job_.convolution_layers->trained >= told.trained) return;
    job_.convolution_layers = {told.trained, told.layers, told.sample, told.torch_pruning};
  }

  void apply_sparse_embeddings(const notes::SparseEmbeddings& told) {
    if (job_.sparse_embeddings && job_.sparse_embeddings->weights >= told.bytes) return;
    job_.sparse_embeddings = {told.bytes, told.touched_bytes, told.layers, told.optimizer, told.same, told.why_not};
  }

  // Losses are called like models; the root is the one with the most parameters.
  void apply_root(const notes::RootModule& told) {
    if (!job_.root_class.empty() && told.parameters <= job_.parameters) return;
    job_.root_class = told.class_name;
    job_.parameters = told.parameters;
    job_.parameter_bytes = told.parameter_bytes;
    job_.has_batch_norm = job_.has_batch_norm || told.has_batch_norm;
  }

  void apply_module(const notes::ModuleMemory& told) {
    model::ModuleBlock block;
    block.name = told.name;
    block.class_name = told.class_name;
    block.saved = told.saved_bytes;
    block.output = std::min(told.output_bytes, block.saved);
    job_.has_batch_norm = job_.has_batch_norm || is_batch_norm(block.class_name);
    const auto known = std::ranges::find(modules_, block.name, &model::ModuleBlock::name);
    if (known == modules_.end()) {
      modules_.push_back(std::move(block));
    } else if (block.saved > known->saved) {
      *known = std::move(block);
    }
  }

  void apply_optimizer(const notes::Optimizer& told) {
    model::OptimizerFacts facts;
    facts.class_name = told.class_name;
    facts.state = told.state_bytes;
    facts.largest = told.largest_bytes;
    facts.factored = told.factored_bytes;
    facts.has_bitsandbytes = told.bitsandbytes;
    facts.foreach = flag_in(told, "foreach");
    facts.fused = flag_in(told, "fused");
    if (!job_.optimizer || facts.state >= job_.optimizer->state) job_.optimizer = std::move(facts);
  }

  // Keeps the evaluation that piles up most, where several gather.
  void apply_growth(const notes::Growth& told) {
    if (told.bytes_per_batch.count() <= 0 || told.batches <= 0) return;
    model::GatheredFacts facts;
    facts.phase = told.phase;
    facts.variable = told.variable;
    facts.line = told.line;
    facts.per_batch = told.bytes_per_batch;
    facts.batches = told.batches;
    facts.movable = told.movable;
    facts.keeps_graphs = told.graphs;
    if (!job_.gathered || sum(facts) > sum(*job_.gathered)) job_.gathered = std::move(facts);
  }

  void apply_kept_graphs(const notes::GraphsKept& told) {
    if (job_.kept_graphs && job_.kept_graphs->per_step >= told.bytes_per_step) return;
    job_.kept_graphs = model::KeptGraphs{told.variable, told.line, told.bytes_per_step, {}};
  }

  void apply_precision(const notes::Precision& told) {
    model::PrecisionFacts& facts = job_.precision;
    if (told.autocast && !told.autocast->empty()) facts.autocast = *told.autocast;
    facts.scaler = facts.scaler || told.scaler;
    facts.checkpointing = facts.checkpointing || told.checkpointing;
    facts.compiled = facts.compiled || told.compiled;
    facts.tf32 = facts.tf32 || told.tf32;
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
