// The part of a job that the Python hooks know: loaders, modules, optimizer, precision.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "model/note_fields.h"
#include "plan/block_levels.h"
#include "plan/job_builder.h"

namespace vramfit::plan {
namespace {

using base::Bytes;
using model::flag_of;
using model::integer_of;
using model::text_of;
using nlohmann::json;

// What a block keeps when it is checkpointed, where the hooks did not measure its output.
constexpr double kOutputShare = 0.15;

std::optional<bool> optional_flag(const json& fields, const char* name) {
  const auto found = fields.find(name);
  if (found == fields.end() || !found->is_boolean()) return std::nullopt;
  return found->get<bool>();
}

std::vector<std::vector<std::int64_t>> shapes_of(const json& fields) {
  std::vector<std::vector<std::int64_t>> shapes;
  const auto found = fields.find("shapes");
  if (found == fields.end() || !found->is_array()) return shapes;
  for (const json& tensor : *found) {
    const json& shape = tensor.is_object() && tensor.contains("shape") ? tensor["shape"] : tensor;
    if (!shape.is_array()) continue;
    std::vector<std::int64_t> sizes;
    for (const json& size : shape) sizes.push_back(size.is_number() ? size.get<std::int64_t>() : -1);
    shapes.push_back(std::move(sizes));
  }
  return shapes;
}

bool is_batch_norm(std::string_view class_name) {
  return class_name.find("BatchNorm") != std::string_view::npos && class_name.find("Frozen") == std::string_view::npos;
}

class NoteReader {
 public:
  explicit NoteReader(model::Job& job) : job_(job) {}

  void apply(const model::Note& note) {
    const json& fields = note.fields;
    if (note.kind == "loader") apply_loader(fields);
    if (note.kind == "root_module") apply_root(fields);
    if (note.kind == "module_memory") apply_module(fields);
    if (note.kind == "optimizer") apply_optimizer(fields);
    if (note.kind == "precision") apply_precision(fields);
    if (note.kind == "evaluation") job_.validates_with_gradients |= flag_of(fields, "gradients");
    if (note.kind == "growth") apply_growth(fields);
  }

  void finish() {
    for (const auto& loader : loaders_) job_.loaders.push_back(loader.second);
    std::erase_if(modules_, [](const model::ModuleBlock& block) { return block.name.empty(); });
    job_.levels = build_levels(modules_);
  }

 private:
  void apply_loader(const json& fields) {
    model::LoaderFacts facts;
    facts.ordinal = static_cast<int>(integer_of(fields, "ordinal"));
    facts.batch_size = integer_of(fields, "batch_size");
    facts.batches = integer_of(fields, "batches");
    facts.phase = text_of(fields, "phase");
    facts.shapes = shapes_of(fields);
    loaders_[facts.ordinal] = std::move(facts);
  }

  // Losses are called like models; the root is the one with the most parameters.
  void apply_root(const json& fields) {
    const std::int64_t parameters = integer_of(fields, "parameters");
    if (!job_.root_class.empty() && parameters <= job_.parameters) return;
    job_.root_class = text_of(fields, "class");
    job_.parameters = parameters;
    job_.parameter_bytes = Bytes(integer_of(fields, "parameter_bytes"));
    job_.has_batch_norm = job_.has_batch_norm || flag_of(fields, "has_batch_norm");
    const auto blocks = fields.find("blocks");
    if (blocks == fields.end() || !blocks->is_array()) return;
    for (const json& block : *blocks) {
      job_.has_batch_norm = job_.has_batch_norm || is_batch_norm(text_of(block, "class"));
    }
  }

  void apply_module(const json& fields) {
    model::ModuleBlock block;
    block.name = text_of(fields, "name");
    block.class_name = text_of(fields, "class");
    block.saved = Bytes(std::max<std::int64_t>(0, integer_of(fields, "saved_bytes")));
    block.output = Bytes(integer_of(fields, "output_bytes"));
    if (!fields.contains("output_bytes")) {
      block.output = Bytes(static_cast<std::int64_t>(static_cast<double>(block.saved.count()) * kOutputShare));
    }
    block.output = std::min(block.output, block.saved);
    job_.has_batch_norm = job_.has_batch_norm || is_batch_norm(block.class_name);
    const auto known = std::ranges::find(modules_, block.name, &model::ModuleBlock::name);
    if (known == modules_.end()) {
      modules_.push_back(std::move(block));
    } else if (block.saved > known->saved) {
      *known = std::move(block);
    }
  }

  void apply_optimizer(const json& fields) {
    model::OptimizerFacts facts;
    facts.class_name = text_of(fields, "class");
    facts.state = Bytes(integer_of(fields, "state_bytes"));
    if (const auto options = fields.find("options"); options != fields.end() && options->is_object()) {
      facts.foreach = optional_flag(*options, "foreach");
      facts.fused = optional_flag(*options, "fused");
    }
    if (!job_.optimizer || facts.state >= job_.optimizer->state) job_.optimizer = std::move(facts);
  }

  // Of several evaluations that gather, the one that piles up most.
  void apply_growth(const json& fields) {
    model::GatheredFacts facts;
    facts.phase = text_of(fields, "phase");
    facts.variable = text_of(fields, "variable");
    facts.line = text_of(fields, "line");
    facts.per_batch = Bytes(integer_of(fields, "bytes_per_batch"));
    facts.batches = integer_of(fields, "batches");
    facts.movable = flag_of(fields, "movable");
    if (facts.per_batch.count() <= 0 || facts.batches <= 0) return;
    if (!job_.gathered || sum(facts) > sum(*job_.gathered)) job_.gathered = std::move(facts);
  }

  void apply_precision(const json& fields) {
    model::PrecisionFacts& facts = job_.precision;
    if (const std::string autocast = text_of(fields, "autocast"); !autocast.empty()) facts.autocast = autocast;
    facts.scaler = facts.scaler || flag_of(fields, "scaler");
    facts.checkpointing = facts.checkpointing || flag_of(fields, "checkpointing");
    facts.compiled = facts.compiled || flag_of(fields, "compiled");
    facts.tf32 = facts.tf32 || flag_of(fields, "tf32");
  }

  model::Job& job_;
  std::map<int, model::LoaderFacts> loaders_;
  std::vector<model::ModuleBlock> modules_;
};

}  // namespace

void read_notes(std::span<const model::Recording> recordings, model::Job& job) {
  NoteReader reader(job);
  for (const model::Recording& recording : recordings) {
    for (const model::Note& note : recording.notes) reader.apply(note);
  }
  reader.finish();
}

}  // namespace vramfit::plan
