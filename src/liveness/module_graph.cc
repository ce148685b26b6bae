#include "liveness/module_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace vramfit::liveness {

namespace {

constexpr int kNobody = -1;
constexpr std::size_t kMostVia = 6;

class Builder {
 public:
  explicit Builder(const ModuleTrace& trace)
      : trace_(trace),
        is_leaf_(trace.frames.size(), true),
        nodes_of_frames_(trace.frames.size(), kNobody),
        producers_(trace.sizes.size(), kNobody),
        makers_(trace.sizes.size(), kNobody),
        via_(trace.sizes.size()) {
    for (const TraceFrame& frame : trace.frames) {
      if (frame.around >= 0) is_leaf_[static_cast<std::size_t>(frame.around)] = false;
      ++calls_[frame.module];
    }
  }

  ModuleGraph build() {
    add_node({.kind = NodeKind::kInput, .module = 0});
    for (const int storage : trace_.inputs) producers_[place(storage)] = 0;
    for (const TraceOperator& op : trace_.operators) {
      is_leaf_[op.frame] && trace_.frames[op.frame].module >= 0 ? add_to_module(op) : add_between(op);
    }
    for (const auto& [storage, bytes] : trace_.alive) {
      const int maker = makers_[place(storage)];
      if (maker != kNobody) graph_.nodes[place(maker)].activations += bytes;
      const int last = producers_[place(storage)];
      if (last != kNobody) graph_.nodes[place(last)].made += bytes;
    }
    add_outputs();
    for (auto& [ends, edge] : edges_) graph_.edges.push_back(std::move(edge));
    return std::move(graph_);
  }

 private:
  static std::size_t place(int number) { return static_cast<std::size_t>(number); }

  int add_node(GraphNode node) {
    graph_.nodes.push_back(std::move(node));
    return static_cast<int>(graph_.nodes.size()) - 1;
  }

  void connect(int from, int to, int storage) {
    GraphEdge& edge = edges_[{from, to}];
    edge.from = from;
    edge.to = to;
    edge.bytes += trace_.sizes[place(storage)];
    for (const std::string& name : via_[place(storage)]) {
      if (std::ranges::find(edge.via, name) == edge.via.end()) edge.via.push_back(name);
    }
  }

  int node_of(std::size_t frame) {
    int& known = nodes_of_frames_[frame];
    if (known != kNobody) return known;
    const int module = trace_.frames[frame].module;
    const bool is_merged = calls_[module] > kMostCalls;
    if (is_merged && merged_.contains(module)) return known = merged_[module];
    known = add_node({.kind = NodeKind::kModule, .module = module, .call = ++called_[{module, ""}]});
    if (is_merged) merged_[module] = known;
    return known;
  }

  void take_inputs(const TraceOperator& op, int node) {
    for (const int storage : op.reads) {
      const int producer = producers_[place(storage)];
      // A recurrent cell that is one node feeds itself; within one call that says nothing.
      const bool feeds_itself = producer == node && makers_call_.contains(storage) && makers_call_[storage] != op.frame;
      if (producer != kNobody && (producer != node || feeds_itself)) connect(producer, node, storage);
    }
  }

  // What lay there before the forward began (weights, counters) stays nobody's.
  bool is_data(const TraceOperator& op, int storage) const {
    const bool is_new = std::ranges::find(op.reads, storage) == op.reads.end();
    return is_new || producers_[place(storage)] != kNobody;
  }

  void give_outputs(const TraceOperator& op, int node, const std::vector<std::string>& via) {
    for (const int storage : op.writes) {
      if (!is_data(op, storage)) continue;
      producers_[place(storage)] = node;
      makers_call_[storage] = op.frame;
      via_[place(storage)] = via;
      if (makers_[place(storage)] == kNobody) makers_[place(storage)] = node;
    }
  }

  void add_to_module(const TraceOperator& op) {
    const int node = node_of(op.frame);
    take_inputs(op, node);
    give_outputs(op, node, {});
  }

  // In a module that calls others.
  void add_between(const TraceOperator& op) {
    std::set<int> producers;
    std::vector<std::string> via;
    for (const int storage : op.reads) {
      if (producers_[place(storage)] == kNobody) continue;
      producers.insert(producers_[place(storage)]);
      via = via_[place(storage)];
    }
    std::string name = op.name.ends_with('_') ? op.name.substr(0, op.name.size() - 1) : op.name;
    if (producers.empty()) return;
    if (producers.size() == 1 && op.forward_flops == 0) {
      if (via.size() < kMostVia) via.push_back(std::move(name));
      return give_outputs(op, *producers.begin(), via);
    }
    const int module = std::max(0, trace_.frames[op.frame].module);
    const int call = ++called_[{module, name}];
    const int node =
        add_node({.kind = NodeKind::kOperator, .module = module, .operation = std::move(name), .call = call});
    take_inputs(op, node);
    give_outputs(op, node, {});
  }

  // One node for each node that the model's results come from. A cache of keys and values is no result.
  void add_outputs() {
    std::map<int, int> nodes;
    for (const TraceOutput& output : trace_.outputs) {
      const int producer = producers_[place(output.storage)];
      if (producer <= 0 || output.name == "past_key_values") continue;
      const auto [found, is_new] = nodes.try_emplace(producer, kNobody);
      if (is_new) {
        const std::string name = output.name == "input" ? "" : output.name;  // what tensors_in calls all others
        found->second =
            add_node({.kind = NodeKind::kOutput, .module = 0, .operation = name, .call = ++called_[{-1, name}]});
      }
      connect(producer, found->second, output.storage);
    }
  }

  const ModuleTrace& trace_;
  ModuleGraph graph_;
  std::vector<bool> is_leaf_;
  std::vector<int> nodes_of_frames_;
  std::vector<int> producers_;  // by storage: the node that wrote it last
  std::vector<int> makers_;     // by storage: the node that made it
  std::vector<std::vector<std::string>> via_;
  std::map<int, std::size_t> makers_call_;  // by storage: the frame that wrote it last
  std::map<int, int> calls_, merged_;       // by module
  std::map<std::pair<int, std::string>, int> called_;
  std::map<std::pair<int, int>, GraphEdge> edges_;
};

}  // namespace

ModuleGraph build_module_graph(const ModuleTrace& trace) { return Builder(trace).build(); }

std::string node_name(const GraphNode& node, const ListedModel& model) {
  const auto counted = [&](std::string name) { return node.call > 1 ? fmt::format("{}#{}", name, node.call) : name; };
  const ListedModule& module = model.modules[static_cast<std::size_t>(std::max(0, node.module))];
  const std::string name = model.prefix + (module.name.empty() && model.prefix.empty() ? "" : module.name);
  switch (node.kind) {
    case NodeKind::kInput:
      return model.prefix + "input";
    case NodeKind::kOutput:
      if (!node.operation.empty()) return model.prefix + "output " + counted(node.operation);
      return model.prefix + (node.call > 1 ? fmt::format("output {}", node.call) : "output");
    case NodeKind::kOperator:
      return name + ":" + counted(node.operation);
    case NodeKind::kModule:
      break;
  }
  return counted(name.empty() ? module.class_name : name);
}

}  // namespace vramfit::liveness
