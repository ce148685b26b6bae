#include "liveness/module_trace.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "model/recording.h"

namespace vramfit::liveness {

using model::Recording;
namespace notes = model::notes;

namespace {

// The numbers of a damaged note may point anywhere: one that points outside throws.
void check(bool holds) {
  if (!holds) throw std::out_of_range("damaged note");
}

std::size_t index_of(std::int64_t number, std::size_t count) {
  check(number >= 0 && static_cast<std::size_t>(number) < count);
  return static_cast<std::size_t>(number);
}

ListedModel take_model(const notes::ModuleList& note) {
  ListedModel listed{note.prefix, {}};
  for (const notes::ListedModule& row : note.modules) {
    listed.modules.push_back({row.name, row.class_name, row.parameters, row.parameter_bytes, row.buffer_bytes, {}, {}});
  }
  check(!listed.modules.empty());
  return listed;
}

TraceFrame take_frame(const notes::TraceFrame& row, std::size_t modules, std::size_t before) {
  check(row.module >= -1 && row.module < static_cast<std::int64_t>(modules));
  check(row.around >= -1 && row.around < static_cast<std::int64_t>(before));
  return {static_cast<int>(row.module),
          static_cast<int>(row.around),
          row.began_ns,
          row.ended_ns,
          row.output_bytes,
          row.inputs,
          row.outputs};
}

std::vector<int> take_storages(const std::vector<std::int64_t>& list, std::size_t count) {
  std::vector<int> storages;
  for (const std::int64_t number : list) storages.push_back(static_cast<int>(index_of(number, count)));
  return storages;
}

TraceOperator take_operator(const notes::TraceOperator& row, const ModuleTrace& trace,
                            const std::vector<std::string>& names) {
  TraceOperator op;
  op.frame = index_of(row.frame, trace.frames.size());
  op.name = names[index_of(row.name, names.size())];
  op.reads = take_storages(row.reads, trace.sizes.size());
  op.writes = take_storages(row.writes, trace.sizes.size());
  op.forward_flops = row.forward_flops;
  op.backward_flops = row.backward_flops;
  op.number = static_cast<model::Number>(index_of(row.number, model::kNumberCount));
  op.touched_bytes = row.touched_bytes;
  return op;
}

ModuleTrace take_trace(const notes::ModuleTrace& note, const std::vector<ListedModel>& models) {
  ModuleTrace trace;
  const std::size_t root = index_of(note.root, models.size());
  trace.root = static_cast<int>(root);
  trace.phase = note.phase;
  trace.device = static_cast<int>(note.device);
  trace.sees_operators = note.sees_operators;
  trace.is_cut = note.cut;
  for (const auto& row : note.frames) {
    trace.frames.push_back(take_frame(row, models[root].modules.size(), trace.frames.size()));
  }
  trace.sizes = note.sizes;
  for (const auto& row : note.operators) trace.operators.push_back(take_operator(row, trace, note.names));
  for (const auto& row : note.alive) {
    trace.alive[static_cast<int>(index_of(row.storage, trace.sizes.size()))] = row.bytes;
  }
  for (const int storage : take_storages(note.inputs, trace.sizes.size())) trace.inputs.insert(storage);
  for (const auto& row : note.outputs) {
    if (row.storage < 0) continue;
    trace.outputs.push_back({static_cast<int>(index_of(row.storage, trace.sizes.size())), row.name, row.bytes});
  }
  check(!trace.frames.empty());
  return trace;
}

// The later note counts: the first step's also held what is made once.
void keep_trace(std::vector<ModuleTrace>& traces, ModuleTrace trace) {
  const auto same = std::ranges::find_if(
      traces, [&](const ModuleTrace& known) { return known.root == trace.root && known.phase == trace.phase; });
  if (same == traces.end()) {
    traces.push_back(std::move(trace));
  } else {
    *same = std::move(trace);
  }
}

void take_sums(const std::vector<notes::ModuleBytes>& rows, std::vector<ListedModel>& models,
               Bytes ListedModule::*member) {
  for (const notes::ModuleBytes& row : rows) {
    ListedModel& listed = models[index_of(row.root, models.size())];
    listed.modules[index_of(row.module, listed.modules.size())].*member = row.bytes;
  }
}

// A note that cannot be understood costs that note alone.
template <class T, class Take>
void take_each(const std::vector<T>& all, int& unreadable, Take take) {
  for (const T& note : all) {
    try {
      take(note);
    } catch (const std::out_of_range&) {
      ++unreadable;
    }
  }
}

}  // namespace

bool watched_modules(std::span<const Recording> recordings) {
  return std::ranges::any_of(recordings,
                             [](const Recording& recording) { return !recording.notes.modules_watched.empty(); });
}

ModuleNotes read_module_notes(std::span<const Recording> recordings) {
  ModuleNotes found;
  const auto lists = [](const Recording& recording) { return !recording.notes.module_list.empty(); };
  const auto first = std::ranges::find_if(recordings, lists);
  if (first == recordings.end()) return found;
  found.process = static_cast<std::size_t>(first - recordings.begin());
  const model::Notes& notes = first->notes;
  take_each(notes.module_list, found.unreadable, [&](const notes::ModuleList& note) {
    check(note.root == static_cast<std::int64_t>(found.models.size()));
    found.models.push_back(take_model(note));
  });
  take_each(notes.module_trace, found.unreadable,
            [&](const notes::ModuleTrace& note) { keep_trace(found.traces, take_trace(note, found.models)); });
  take_each(notes.module_gradients, found.unreadable, [&](const notes::ModuleGradients& note) {
    take_sums(note.bytes, found.models, &ListedModule::gradient_bytes);
  });
  take_each(notes.module_states, found.unreadable, [&](const notes::ModuleStates& note) {
    take_sums(note.bytes, found.models, &ListedModule::optimizer_bytes);
  });
  return found;
}

}  // namespace vramfit::liveness
