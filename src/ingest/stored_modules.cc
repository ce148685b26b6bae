#include "ingest/stored_modules.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "ingest/stored_fields.h"

namespace vramfit::ingest {

using base::Bytes;
using nlohmann::json;

namespace {

Bytes required_bytes(const json& row, const char* key) { return Bytes(whole<std::int64_t>(row.at(key))); }

model::ModuleUse read_use(const json& row) {
  model::ModuleUse use;
  use.phase = required_text(row, "phase");
  use.calls = whole<std::int64_t>(row.at("calls"));
  use.inputs = row.at("inputs").get<std::vector<std::string>>();
  use.outputs = row.at("outputs").get<std::vector<std::string>>();
  use.forward_flops = row.at("forward_flops").get<double>();
  use.backward_flops = row.at("backward_flops").get<double>();
  use.activations = required_bytes(row, "activation_bytes");
  use.output = required_bytes(row, "output_bytes");
  use.peak_rise = required_bytes(row, "peak_rise_bytes");
  use.workspace = required_bytes(row, "workspace_bytes");
  const json& seconds = row.at("estimated_forward_seconds");
  if (!seconds.is_null()) use.forward_seconds = seconds.get<double>();
  return use;
}

model::ModuleRow read_row(const json& row) {
  model::ModuleRow module{required_text(row, "name"),
                          required_text(row, "class"),
                          whole<std::int64_t>(row.at("parameters")),
                          required_bytes(row, "parameter_bytes"),
                          required_bytes(row, "buffer_bytes"),
                          required_bytes(row, "gradient_bytes"),
                          required_bytes(row, "optimizer_bytes"),
                          {}};
  for (const json& use : row.at("uses")) module.uses.push_back(read_use(use));
  return module;
}

model::ModuleEdge read_edge(const json& row, std::size_t nodes) {
  model::ModuleEdge edge{whole<std::size_t>(row.at("from")), whole<std::size_t>(row.at("to")),
                         required_bytes(row, "bytes"), row.at("via").get<std::vector<std::string>>()};
  if (edge.from >= nodes || edge.to >= nodes) throw json::other_error::create(600, "an edge without a node", nullptr);
  return edge;
}

model::BranchKind read_kind(const std::string& word) {
  using enum model::BranchKind;
  for (const model::BranchKind kind : std::array{kAdded, kConcatenated, kGate, kOutput}) {
    if (to_string(kind) == word) return kind;
  }
  throw json::other_error::create(600, "unknown word: " + word, nullptr);
}

model::Branch read_branch(const json& row) {
  model::Branch branch;
  branch.name = required_text(row, "name");
  branch.modules = row.at("modules").get<std::vector<std::string>>();
  branch.kind = read_kind(required_text(row, "kind"));
  branch.joins = required_text(row, "joins");
  branch.training_only = row.at("training_only").get<bool>();
  branch.parameters = whole<std::int64_t>(row.at("parameters"));
  branch.weights = required_bytes(row, "weight_bytes");
  branch.gradients = required_bytes(row, "gradient_bytes");
  branch.optimizer = required_bytes(row, "optimizer_bytes");
  branch.activations = required_bytes(row, "activation_bytes");
  branch.alike = whole<int>(row.at("alike"));
  return branch;
}

}  // namespace

std::shared_ptr<const model::ModuleTable> read_modules(const json& result) {
  if (!result.contains("modules")) return nullptr;
  auto table = std::make_shared<model::ModuleTable>();
  for (const json& row : result.at("modules")) table->rows.push_back(read_row(row));
  for (const json& row : result.at("module_nodes")) {
    table->nodes.push_back({required_text(row, "id"), required_text(row, "module"), required_text(row, "operation"),
                            required_bytes(row, "activation_bytes"), required_bytes(row, "held_bytes")});
  }
  for (const json& row : result.at("module_edges")) table->edges.push_back(read_edge(row, table->nodes.size()));
  for (const json& row : result.at("module_branches")) table->branches.push_back(read_branch(row));
  table->remarks = result.at("module_remarks").get<std::vector<std::string>>();
  return table;
}

}  // namespace vramfit::ingest
