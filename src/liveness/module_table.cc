#include "liveness/module_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "liveness/module_branches.h"
#include "liveness/module_graph.h"
#include "liveness/module_names.h"
#include "liveness/module_trace.h"
#include "model/number_text.h"
#include "model/recording.h"

namespace vramfit::liveness {

using model::ModuleRow;
using model::ModuleTable;
using model::ModuleUse;

namespace {

std::vector<ModuleRow> build_rows(const ListedModel& listed, const ModuleNames& names) {
  std::vector<ModuleRow> rows;
  for (const ListedModule& module : listed.modules) {
    std::string name = listed.prefix + module.name;
    if (module.name.empty() && !name.empty()) name.pop_back();  // "Critic/" is the model itself
    rows.push_back({std::move(name),
                    module.class_name,
                    module.parameters,
                    module.parameter_bytes,
                    module.buffer_bytes,
                    module.gradient_bytes,
                    module.optimizer_bytes,
                    {}});
  }
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const ListedModule& own = listed.modules[i];
    for (int above = names.parent(static_cast<int>(i)); above >= 0; above = names.parent(above)) {
      ModuleRow& row = rows[place(above)];
      row.parameters += own.parameters;
      row.parameter_bytes += own.parameter_bytes;
      row.buffer_bytes += own.buffer_bytes;
      row.gradient_bytes += own.gradient_bytes;
      row.optimizer_bytes += own.optimizer_bytes;
    }
  }
  return rows;
}

// How far the card's level rose above where it was when the frame began.
Bytes find_rise_within(const CardHistory& history, const TraceFrame& frame) {
  const auto& levels = history.levels;
  const std::int64_t began = frame.began_ns - history.started_at_ns, ended = frame.ended_ns - history.started_at_ns;
  auto at = std::ranges::upper_bound(levels, began, {}, &Level::at_ns);
  const Bytes before = at == levels.begin() ? Bytes() : std::prev(at)->allocated;
  Bytes most = before;
  for (; at != levels.end() && at->at_ns <= ended; ++at) most = std::max(most, at->allocated);
  return most - before;
}

// One model's trace of one phase, as a use of each of its modules.
class UseBuilder {
 public:
  UseBuilder(const ModuleTrace& trace, const ListedModel& listed, const ModuleNames& names)
      : trace_(trace), listed_(listed), names_(names), uses_(listed.modules.size()), is_known_(uses_.size(), false) {}

  void add_calls(const CardHistory* history) {
    for (const TraceFrame& frame : trace_.frames) {
      const bool is_wrapped = frame.around >= 0 && trace_.frames[place(frame.around)].module == frame.module;
      if (frame.module < 0 || is_wrapped) continue;
      ModuleUse& use = use_of(frame.module);
      if (use.calls++ == 0) {
        use.inputs = frame.inputs;
        use.outputs = frame.outputs;
      }
      use.output += frame.output;
      if (history != nullptr) use.peak_rise = std::max(use.peak_rise, find_rise_within(*history, frame));
    }
  }

  void add_work(const OperatorSeconds& seconds) {
    for (const TraceOperator& op : trace_.operators) {
      const auto takes = seconds(trace_.device, op.number, op.forward_flops, op.touched_bytes);
      for_all_around(owner(op.frame), [&](ModuleUse& use) {
        use.forward_flops += op.forward_flops;
        use.backward_flops += op.backward_flops;
        if (takes) use.forward_seconds = use.forward_seconds.value_or(0) + *takes;
      });
    }
  }

  void add_activations() {
    std::map<int, std::size_t> makers;  // by storage
    for (const TraceOperator& op : trace_.operators) {
      for (const int storage : op.writes) makers.try_emplace(storage, op.frame);
    }
    for (const auto& [storage, bytes] : trace_.alive) {
      const auto maker = makers.find(storage);
      if (maker == makers.end()) continue;
      for_all_around(owner(maker->second), [&](ModuleUse& use) { use.activations += bytes; });
    }
  }

  void add_workspaces(const model::Recording& recording) {
    const TraceFrame& whole = trace_.frames.front();
    for (const vf_record& record : recording.records) {
      const std::int64_t at_ns = record.at_ns + recording.started_at_ns;
      if (record.kind != VF_RECORD_WORKSPACE || at_ns < whole.began_ns || at_ns > whole.ended_ns) continue;
      std::string_view scope = recording.text(record.scope);
      if (!listed_.prefix.empty() && scope.starts_with(listed_.prefix)) scope.remove_prefix(listed_.prefix.size());
      for_all_around(std::max(0, names_.find(scope)),
                     [&](ModuleUse& use) { use.workspace = std::max(use.workspace, Bytes(record.size)); });
    }
  }

  void move_into(std::vector<ModuleRow>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (is_known_[i]) rows[i].uses.push_back(std::move(uses_[i]));
    }
  }

 private:
  ModuleUse& use_of(int module) {
    is_known_[place(module)] = true;
    uses_[place(module)].phase = trace_.phase;
    return uses_[place(module)];
  }

  // Where the model does not list a module, its caller owns what it made.
  int owner(std::size_t frame) const {
    while (trace_.frames[frame].module < 0 && trace_.frames[frame].around >= 0) {
      frame = place(trace_.frames[frame].around);
    }
    return std::max(0, trace_.frames[frame].module);
  }

  template <class Change>
  void for_all_around(int module, Change change) {
    for (; module >= 0; module = names_.parent(module)) change(use_of(module));
  }

  const ModuleTrace& trace_;
  const ListedModel& listed_;
  const ModuleNames& names_;
  std::vector<ModuleUse> uses_;
  std::vector<bool> is_known_;
};

const ModuleTrace* find_trace(const ModuleNotes& notes, int root, bool training) {
  for (const ModuleTrace& trace : notes.traces) {
    if (trace.root == root && trace.sees_operators && (trace.phase == model::phase::kTrain) == training) return &trace;
  }
  return nullptr;
}

std::vector<bool> find_evaluated(const ModuleNotes& notes, int root, std::size_t modules) {
  const ModuleTrace* evaluation = find_trace(notes, root, false);
  if (evaluation == nullptr) return {};
  std::vector<bool> called(modules, false);
  for (const TraceFrame& frame : evaluation->frames) {
    if (frame.module >= 0) called[place(frame.module)] = true;
  }
  return called;
}

void add_network(const ModuleGraph& graph, const ListedModel& listed, const std::vector<ModuleRow>& rows,
                 ModuleTable& table) {
  const std::size_t first = table.nodes.size();
  std::vector<bool> counted(rows.size(), false);
  for (const GraphNode& node : graph.nodes) {
    const ModuleRow& row = rows[place(std::max(0, node.module))];
    model::ModuleNode shown{node_name(node, listed), row.name, node.operation, node.activations, {}};
    if (node.kind == NodeKind::kInput || node.kind == NodeKind::kOutput) {
      shown.operation = node.kind == NodeKind::kInput ? "input" : "output";
    } else if (node.kind == NodeKind::kModule && !counted[place(node.module)]) {
      counted[place(node.module)] = true;
      shown.held = held_bytes(row);
    }
    table.nodes.push_back(std::move(shown));
  }
  for (const GraphEdge& edge : graph.edges) {
    table.edges.push_back({first + place(edge.from), first + place(edge.to), edge.bytes, edge.via});
  }
}

void add_remarks(const ModuleNotes& notes, ModuleTable& table) {
  if (notes.traces.empty()) table.remarks.emplace_back("no model with parameters was called");
  bool is_compiled = false, is_cut = false;
  for (const ModuleTrace& trace : notes.traces) {
    is_compiled |= !trace.sees_operators;
    is_cut |= trace.is_cut;
  }
  if (is_compiled) {
    table.remarks.emplace_back(
        "torch.compile is in use: inside compiled modules neither operators nor activations are seen; run the job "
        "without it for them");
  }
  if (is_cut) table.remarks.emplace_back("a forward has more operators than are recorded: what comes last is missing");
  if (notes.unreadable > 0) table.remarks.push_back(fmt::format("{} notes could not be read", notes.unreadable));
}

}  // namespace

std::optional<ModuleTable> build_module_table(std::span<const model::Recording> recordings,
                                              std::span<const CardHistory> histories, const OperatorSeconds& seconds) {
  if (!watched_modules(recordings)) return std::nullopt;
  const ModuleNotes notes = read_module_notes(recordings);
  ModuleTable table;
  for (std::size_t root = 0; root < notes.models.size(); ++root) {
    const ListedModel& listed = notes.models[root];
    const ModuleNames names(listed);
    std::vector<ModuleRow> rows = build_rows(listed, names);
    for (const ModuleTrace& trace : notes.traces) {
      if (trace.root != static_cast<int>(root)) continue;
      UseBuilder uses(trace, listed, names);
      uses.add_calls(find_history(histories, trace.device));
      uses.add_work(seconds);
      uses.add_activations();
      uses.add_workspaces(recordings[notes.process]);
      uses.move_into(rows);
    }
    const ModuleTrace* training = find_trace(notes, static_cast<int>(root), true);
    const ModuleTrace* shown = training != nullptr ? training : find_trace(notes, static_cast<int>(root), false);
    if (shown != nullptr) {
      const ModuleGraph graph = build_module_graph(*shown);
      add_network(graph, listed, rows, table);
      const auto evaluated =
          training != nullptr ? find_evaluated(notes, static_cast<int>(root), rows.size()) : std::vector<bool>();
      for (auto& branch : find_branches(graph, listed, rows, evaluated)) table.branches.push_back(std::move(branch));
    }
    for (ModuleRow& row : rows) table.rows.push_back(std::move(row));
  }
  add_remarks(notes, table);
  return table;
}

}  // namespace vramfit::liveness
