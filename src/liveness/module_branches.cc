#include "liveness/module_branches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "liveness/module_names.h"

namespace vramfit::liveness {

using model::Branch;
using model::BranchKind;

namespace {

class Finder {
 public:
  Finder(const ModuleGraph& graph, const ListedModel& model, std::span<const model::ModuleRow> rows,
         const std::vector<bool>& evaluated)
      : graph_(graph),
        model_(model),
        rows_(rows),
        evaluated_(evaluated),
        names_(model),
        incoming_(graph.nodes.size()),
        outgoing_(graph.nodes.size()),
        is_fed_(graph.nodes.size(), false) {
    for (std::size_t i = 0; i < graph.edges.size(); ++i) {
      outgoing_[place(graph.edges[i].from)].push_back(i);
      incoming_[place(graph.edges[i].to)].push_back(i);
    }
    for (const GraphNode& node : graph.nodes) {
      outputs_ += node.kind == NodeKind::kOutput ? 1 : 0;
      if (node.kind == NodeKind::kModule) ++nodes_below_[node.module];
    }
    mark_fed();
  }

  std::vector<Branch> find() {
    for (std::size_t node = 0; node < graph_.nodes.size(); ++node) {
      for (const std::size_t edge : incoming_[node]) {
        const auto kind = kind_of(edge);
        if (kind) consider(edge, *kind);
      }
    }
    return fold_alike();
  }

 private:
  // Marks what depends on the model's input.
  void mark_fed() {
    std::vector<std::size_t> open = {0};
    is_fed_[0] = true;
    while (!open.empty()) {
      const std::size_t node = open.back();
      open.pop_back();
      for (const std::size_t edge : outgoing_[node]) {
        const std::size_t to = place(graph_.edges[edge].to);
        if (is_fed_[to]) continue;
        is_fed_[to] = true;
        open.push_back(to);
      }
    }
  }

  bool is_ancestor(int above, int below) const {
    std::set<int> seen = {below};
    std::vector<int> open = {below};
    while (!open.empty()) {
      const int node = open.back();
      open.pop_back();
      if (node == above) return true;
      for (const std::size_t edge : incoming_[place(node)]) {
        if (seen.insert(graph_.edges[edge].from).second) open.push_back(graph_.edges[edge].from);
      }
    }
    return false;
  }

  // Whether the model still makes sense without this edge, and what the edge's source is then.
  std::optional<BranchKind> kind_of(std::size_t edge) const {
    const GraphEdge& cut = graph_.edges[edge];
    const GraphNode& join = graph_.nodes[place(cut.to)];
    if (join.kind == NodeKind::kOutput) return outputs_ > 1 ? std::optional(BranchKind::kOutput) : std::nullopt;
    if (join.kind != NodeKind::kOperator || cut.from == 0) return std::nullopt;
    const auto& ways = incoming_[place(cut.to)];
    const bool another_is_fed = std::ranges::any_of(
        ways, [&](std::size_t way) { return way != edge && is_fed_[place(graph_.edges[way].from)]; });
    if (!another_is_fed) return std::nullopt;
    if (join.operation == "add" || join.operation == "sub" || join.operation == "stack") return BranchKind::kAdded;
    if (join.operation == "cat") return BranchKind::kConcatenated;
    if (join.operation != "mul") return std::nullopt;
    const bool gates_its_source = std::ranges::any_of(
        ways, [&](std::size_t way) { return way != edge && is_ancestor(graph_.edges[way].from, cut.from); });
    return gates_its_source ? std::optional(BranchKind::kGate) : std::nullopt;
  }

  // Everything that leads nowhere once the edge is cut.
  std::set<int> find_dead(std::size_t edge) const {
    std::set<int> dead;
    std::vector<int> open = {graph_.edges[edge].from};
    while (!open.empty()) {
      const int node = open.back();
      open.pop_back();
      const bool is_dead = std::ranges::all_of(outgoing_[place(node)], [&](std::size_t way) {
        return way == edge || graph_.edges[way].to == node || dead.contains(graph_.edges[way].to);
      });
      if (node == 0 || !is_dead || !dead.insert(node).second) continue;
      for (const std::size_t way : incoming_[place(node)]) open.push_back(graph_.edges[way].from);
    }
    return dead;
  }

  void consider(std::size_t edge, BranchKind kind) {
    const std::set<int> dead = find_dead(edge);
    std::map<int, int> calls;
    for (const int node : dead) {
      if (graph_.nodes[place(node)].kind == NodeKind::kModule) ++calls[graph_.nodes[place(node)].module];
    }
    std::set<int> gone;  // modules of which no call is left
    for (const auto& [module, count] : calls) {
      if (count == nodes_below_[module]) gone.insert(module);
    }
    if (gone.empty() || !known_.insert(dead).second) return;
    Branch branch;
    branch.kind = kind;
    branch.joins = node_name(graph_.nodes[place(graph_.edges[edge].to)], model_);
    const std::vector<int> cover = names_.cover(gone, called_modules());
    for (const int module : cover) {
      const model::ModuleRow& row = rows_[place(module)];
      branch.modules.push_back(row.name);
      branch.parameters += row.parameters;
      branch.weights += row.parameter_bytes + row.buffer_bytes;
      branch.gradients += row.gradient_bytes;
      branch.optimizer += row.optimizer_bytes;
    }
    for (const int node : dead) branch.activations += graph_.nodes[place(node)].activations;
    branch.activations += saved_at_join(edge, dead);
    branch.training_only =
        !evaluated_.empty() && std::ranges::none_of(gone, [&](int m) { return evaluated_[place(m)]; });
    // Outputs that evaluations also want are no side branches.
    if (kind == BranchKind::kOutput && !evaluated_.empty() && !branch.training_only) return;
    branch.name = names_.describe(cover, model_.prefix);
    branches_.push_back(std::move(branch));
  }

  // A join of two is not needed for one; a concatenation becomes shorter.
  Bytes saved_at_join(std::size_t edge, const std::set<int>& dead) const {
    const GraphEdge& cut = graph_.edges[edge];
    const GraphNode& join = graph_.nodes[place(cut.to)];
    if (join.kind != NodeKind::kOperator) return {};
    Bytes all;
    for (const std::size_t way : incoming_[place(cut.to)]) all += graph_.edges[way].bytes;
    if (join.operation == "cat" && all.count() > 0) {
      const double share = static_cast<double>(cut.bytes.count()) / static_cast<double>(all.count());
      return Bytes(static_cast<std::int64_t>(share * static_cast<double>(join.activations.count())));
    }
    if (incoming_[place(cut.to)].size() != 2) return {};
    const std::size_t other =
        incoming_[place(cut.to)][0] == edge ? incoming_[place(cut.to)][1] : incoming_[place(cut.to)][0];
    const GraphNode& left = graph_.nodes[place(graph_.edges[other].from)];
    return left.made.count() > 0 && !dead.contains(graph_.edges[other].from) ? join.activations : Bytes();
  }

  std::set<int> called_modules() const {
    std::set<int> called;
    for (const auto& [module, count] : nodes_below_) called.insert(module);
    return called;
  }

  // h.0.attn, h.1.attn ... are one line; the first of them stands for all.
  std::vector<Branch> fold_alike() {
    using Key = std::tuple<std::string, std::string, BranchKind, Bytes, Bytes>;
    std::map<Key, std::size_t> known;
    std::vector<Branch> folded;
    for (Branch& branch : branches_) {
      const Key key{model::without_numbers(branch.name), model::without_numbers(branch.joins), branch.kind,
                    branch.total(), branch.activations};
      const auto [found, is_new] = known.try_emplace(key, folded.size());
      if (is_new) {
        folded.push_back(std::move(branch));
      } else {
        ++folded[found->second].alike;
      }
    }
    std::ranges::stable_sort(folded, [](const Branch& left, const Branch& right) {
      return left.total().count() * left.alike > right.total().count() * right.alike;
    });
    return folded;
  }

  const ModuleGraph& graph_;
  const ListedModel& model_;
  std::span<const model::ModuleRow> rows_;
  const std::vector<bool>& evaluated_;
  ModuleNames names_;
  std::vector<std::vector<std::size_t>> incoming_, outgoing_;  // edges, by node
  std::vector<bool> is_fed_;
  int outputs_ = 0;
  std::map<int, int> nodes_below_;  // by module: its calls
  std::set<std::set<int>> known_;
  std::vector<Branch> branches_;
};

}  // namespace

std::vector<Branch> find_branches(const ModuleGraph& graph, const ListedModel& model,
                                  std::span<const model::ModuleRow> rows, const std::vector<bool>& evaluated) {
  if (graph.nodes.empty()) return {};
  return Finder(graph, model, rows, evaluated).find();
}

}  // namespace vramfit::liveness
