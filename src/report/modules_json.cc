#include "report/modules_json.h"

#include <nlohmann/json.hpp>

#include "report/json_parts.h"

namespace vramfit::report {

using nlohmann::ordered_json;

namespace {

ordered_json use_json(const model::ModuleUse& use) {
  return {
      {"phase", use.phase},
      {"calls", use.calls},
      {"inputs", use.inputs},
      {"outputs", use.outputs},
      {"forward_flops", use.forward_flops},
      {"backward_flops", use.backward_flops},
      {"activation_bytes", use.activations.count()},
      {"output_bytes", use.output.count()},
      {"peak_rise_bytes", use.peak_rise.count()},
      {"workspace_bytes", use.workspace.count()},
      {"estimated_forward_seconds", use.forward_seconds ? ordered_json(*use.forward_seconds) : ordered_json(nullptr)}};
}

ordered_json module_json(const model::ModuleRow& row) {
  ordered_json uses = ordered_json::array();
  for (const model::ModuleUse& use : row.uses) uses.push_back(use_json(use));
  return {{"name", row.name},
          {"class", row.class_name},
          {"parameters", row.parameters},
          {"parameter_bytes", row.parameter_bytes.count()},
          {"buffer_bytes", row.buffer_bytes.count()},
          {"gradient_bytes", row.gradient_bytes.count()},
          {"optimizer_bytes", row.optimizer_bytes.count()},
          {"uses", std::move(uses)}};
}

ordered_json node_json(const model::ModuleNode& node) {
  return {{"id", node.id},
          {"module", node.module},
          {"operation", node.operation.empty() ? ordered_json(nullptr) : ordered_json(node.operation)},
          {"activation_bytes", node.activations.count()},
          {"held_bytes", node.held.count()}};
}

ordered_json edge_json(const model::ModuleEdge& edge) {
  return {{"from", edge.from}, {"to", edge.to}, {"bytes", edge.bytes.count()}, {"via", edge.via}};
}

ordered_json branch_json(const model::Branch& branch) {
  return {{"name", branch.name},
          {"modules", branch.modules},
          {"kind", to_string(branch.kind)},
          {"joins", branch.joins},
          {"training_only", branch.training_only},
          {"parameters", branch.parameters},
          {"weight_bytes", branch.weights.count()},
          {"gradient_bytes", branch.gradients.count()},
          {"optimizer_bytes", branch.optimizer.count()},
          {"activation_bytes", branch.activations.count()},
          {"freed_bytes", branch.total().count()},
          {"alike", branch.alike}};
}

}  // namespace

ordered_json modules_to_json(const model::ModuleTable& table) {
  return {{"modules", list_json(table.rows, module_json)},
          {"module_nodes", list_json(table.nodes, node_json)},
          {"module_edges", list_json(table.edges, edge_json)},
          {"module_branches", list_json(table.branches, branch_json)},
          {"module_remarks", table.remarks}};
}

}  // namespace vramfit::report
