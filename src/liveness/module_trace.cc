#include "liveness/module_trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

namespace vramfit::liveness {

using model::Note;
using model::Recording;
using nlohmann::json;

namespace {

// A note is one line of the job's own process, which may be killed while it writes: whatever is odd throws.
void check(bool holds) {
  if (!holds) throw std::out_of_range("damaged note");
}

std::size_t index_of(const json& value, std::size_t count) {
  const auto number = value.get<std::int64_t>();
  check(number >= 0 && static_cast<std::size_t>(number) < count);
  return static_cast<std::size_t>(number);
}

Bytes bytes_of(const json& value) {
  const auto number = value.get<std::int64_t>();
  check(number >= 0 && number < (std::int64_t{1} << 44));
  return Bytes(number);
}

ListedModel parse_model(const json& fields) {
  ListedModel listed{fields.at("prefix").get<std::string>(), {}};
  for (const json& row : fields.at("modules")) {
    listed.modules.push_back({row.at(0).get<std::string>(),
                              row.at(1).get<std::string>(),
                              row.at(2).get<std::int64_t>(),
                              bytes_of(row.at(3)),
                              bytes_of(row.at(4)),
                              {},
                              {}});
  }
  check(!listed.modules.empty());
  return listed;
}

TraceFrame parse_frame(const json& row, std::size_t modules, std::size_t before) {
  TraceFrame frame;
  frame.module = row.at(0).get<int>();
  frame.around = row.at(1).get<int>();
  check(frame.module >= -1 && frame.module < static_cast<int>(modules));
  check(frame.around >= -1 && frame.around < static_cast<int>(before));
  frame.began_ns = row.at(2).get<std::int64_t>();
  frame.ended_ns = row.at(3).get<std::int64_t>();
  frame.output = bytes_of(row.at(4));
  frame.inputs = row.at(5).get<std::vector<std::string>>();
  frame.outputs = row.at(6).get<std::vector<std::string>>();
  return frame;
}

std::vector<int> parse_storages(const json& list, std::size_t count) {
  std::vector<int> storages;
  for (const json& number : list) storages.push_back(static_cast<int>(index_of(number, count)));
  return storages;
}

TraceOperator parse_operator(const json& row, const ModuleTrace& trace, const json& names) {
  TraceOperator op;
  op.frame = index_of(row.at(0), trace.frames.size());
  op.name = names.at(index_of(row.at(1), names.size())).get<std::string>();
  op.reads = parse_storages(row.at(2), trace.sizes.size());
  op.writes = parse_storages(row.at(3), trace.sizes.size());
  op.forward_flops = row.at(4).get<double>();
  op.backward_flops = row.at(5).get<double>();
  op.number = static_cast<model::Number>(index_of(row.at(6), model::kNumberCount));
  op.touched_bytes = row.at(7).get<double>();
  return op;
}

ModuleTrace parse_trace(const json& fields, const std::vector<ListedModel>& models) {
  ModuleTrace trace;
  const std::size_t root = index_of(fields.at("root"), models.size());
  trace.root = static_cast<int>(root);
  trace.phase = fields.at("phase").get<std::string>();
  trace.device = fields.at("device").get<int>();
  trace.sees_operators = fields.at("sees_operators").get<bool>();
  trace.is_cut = fields.at("cut").get<bool>();
  for (const json& row : fields.at("frames")) {
    trace.frames.push_back(parse_frame(row, models[root].modules.size(), trace.frames.size()));
  }
  for (const json& size : fields.at("sizes")) trace.sizes.push_back(bytes_of(size));
  for (const json& row : fields.at("operators")) {
    trace.operators.push_back(parse_operator(row, trace, fields.at("names")));
  }
  for (const json& row : fields.at("alive")) {
    trace.alive[static_cast<int>(index_of(row.at(0), trace.sizes.size()))] = bytes_of(row.at(1));
  }
  for (const int storage : parse_storages(fields.at("inputs"), trace.sizes.size())) trace.inputs.insert(storage);
  for (const json& row : fields.at("outputs")) {
    if (row.at(0).get<int>() < 0) continue;
    trace.outputs.push_back(
        {static_cast<int>(index_of(row.at(0), trace.sizes.size())), row.at(1).get<std::string>(), bytes_of(row.at(2))});
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

void apply_sums(const json& fields, std::vector<ListedModel>& models, Bytes ListedModule::*member) {
  for (const json& row : fields.at("bytes")) {
    ListedModel& listed = models[index_of(row.at(0), models.size())];
    listed.modules[index_of(row.at(1), listed.modules.size())].*member = bytes_of(row.at(2));
  }
}

void apply_note(const Note& note, ModuleNotes& notes) {
  if (note.kind == "module_list") {
    check(note.fields.at("root").get<std::size_t>() == notes.models.size());
    notes.models.push_back(parse_model(note.fields));
  } else if (note.kind == "module_trace") {
    keep_trace(notes.traces, parse_trace(note.fields, notes.models));
  } else if (note.kind == "module_gradients") {
    apply_sums(note.fields, notes.models, &ListedModule::gradient_bytes);
  } else if (note.kind == "module_states") {
    apply_sums(note.fields, notes.models, &ListedModule::optimizer_bytes);
  }
}

bool has_kind(const Recording& recording, std::string_view kind) {
  return std::ranges::any_of(recording.notes, [&](const Note& note) { return note.kind == kind; });
}

}  // namespace

bool watched_modules(std::span<const Recording> recordings) {
  return std::ranges::any_of(recordings,
                             [](const Recording& recording) { return has_kind(recording, "modules_watched"); });
}

ModuleNotes read_module_notes(std::span<const Recording> recordings) {
  ModuleNotes notes;
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    if (!has_kind(recordings[i], "module_list")) continue;
    notes.process = i;
    for (const Note& note : recordings[i].notes) {
      try {
        apply_note(note, notes);
      } catch (const std::exception&) {  // nlohmann's or check()'s
        ++notes.unreadable;
      }
    }
    break;
  }
  return notes;
}

}  // namespace vramfit::liveness
