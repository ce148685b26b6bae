#include "app/notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <string>

#include "model/data_loss.h"
#include "model/note_fields.h"

namespace vramfit::app {

using model::flag_of;
using model::integer_of;
using model::list_of;
using model::LossKind;
using model::Note;
using model::Recording;
using model::Remark;
using model::RunResult;
using model::text_of;
using nlohmann::json;

namespace {

// What a launcher says of its ranks: torchrun, torch.multiprocessing.spawn.
constexpr std::array<std::string_view, 3> kLaunchersErrors{"ChildFailedError", "ProcessRaisedException",
                                                           "ProcessExitedException"};

std::vector<model::StackFrame> stack_of(const json& fields) {
  std::vector<model::StackFrame> stack;
  for (const json& frame : list_of(fields, "stack")) {
    if (!frame.is_object()) continue;
    stack.push_back({text_of(frame, "file"), static_cast<int>(integer_of(frame, "line", 0)), text_of(frame, "function"),
                     text_of(frame, "code")});
  }
  return stack;
}

void add_once(std::vector<std::string>& list, std::string text) {
  if (!text.empty() && std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

void add_remark(std::vector<Remark>& list, std::string text, std::int64_t count) {
  const auto same = std::find_if(list.begin(), list.end(), [&](const Remark& remark) { return remark.text == text; });
  if (same == list.end()) {
    list.push_back({std::move(text), count});
  } else {
    same->count += count;
  }
}

void add_loss(RunResult& result, LossKind kind, std::string detail, std::int64_t count = 1) {
  for (model::DataLoss& known : result.losses) {
    if (known.kind == kind && known.detail == detail) {
      known.count += count;
      return;
    }
  }
  result.losses.push_back({kind, count, std::move(detail)});
}

// PyTorch's blocks or segments on a card. A process that only asks how much is free makes a context and nothing else.
bool has_allocated(const Recording& recording) {
  return std::ranges::any_of(recording.records, [](const vf_record& record) {
    return record.kind == VF_RECORD_BLOCK_ALLOC || record.kind == VF_RECORD_SEGMENT_ALLOC;
  });
}

void add_data_read(RunResult& result, std::string what, std::string line, std::int64_t count) {
  for (model::DataDependence& known : result.depends_on_data) {
    if (known.what == what && known.line == line) {
      known.count += count;
      return;
    }
  }
  result.depends_on_data.push_back({std::move(what), std::move(line), count});
}

void apply_process(const json& fields, RunResult& result) {
  for (const auto& [name, into] :
       {std::pair("torch", &result.torch), std::pair("cuda", &result.cuda), std::pair("python", &result.python)}) {
    if (std::string text = text_of(fields, name); !text.empty()) *into = std::move(text);
  }
}

// Of several processes' errors the first counts, but a launcher's only when no rank of it said more.
void apply_error(const json& fields, RunResult& result) {
  const bool after_cut = flag_of(fields, "after_cut");
  if (!result.error || std::ranges::find(kLaunchersErrors, result.error->type) != kLaunchersErrors.end()) {
    const bool before = result.error && result.error->after_cut;
    result.error = {text_of(fields, "type"), text_of(fields, "message"), stack_of(fields), before};
  }
  result.error->after_cut |= after_cut;
}

std::optional<model::LoadingFacts> loading_of(const json& fields) {
  const auto written = fields.find("loading");
  if (written == fields.end() || !written->is_object()) return std::nullopt;
  model::LoadingFacts loading{text_of(*written, "how"), text_of(*written, "root"), text_of(*written, "module"),
                              base::Bytes(integer_of(*written, "on_card_bytes")), std::nullopt};
  const std::int64_t left = integer_of(*written, "to_come_bytes", -1);
  if (left >= 0) loading.to_come = base::Bytes(left);
  return loading;
}

void apply_framework(const json& fields, RunResult& result) {
  model::FrameworkMemory memory;
  memory.name = text_of(fields, "framework");
  memory.version = text_of(fields, "version");
  memory.device = static_cast<int>(integer_of(fields, "device"));
  memory.peak = base::Bytes(integer_of(fields, "peak_bytes"));
  if (const std::int64_t pool = integer_of(fields, "pool_bytes"); pool > 0) memory.pool = base::Bytes(pool);
  if (memory.peak.count() > 0) result.frameworks.push_back(std::move(memory));
}

std::optional<base::Bytes> told_bytes(const json& fields, const char* name) {
  const std::int64_t bytes = integer_of(fields, name, -1);
  return bytes < 0 ? std::nullopt : std::optional(base::Bytes(bytes));
}

void apply_server(const json& fields, RunResult& result) {
  model::ServerMemory memory;
  memory.name = text_of(fields, "framework");
  memory.version = text_of(fields, "version");
  memory.device = static_cast<int>(integer_of(fields, "device"));
  memory.weights = told_bytes(fields, "weights_bytes");
  memory.activations = told_bytes(fields, "activation_bytes");
  memory.outside = told_bytes(fields, "outside_bytes");
  memory.graphs = told_bytes(fields, "graph_bytes");
  memory.kv_cache = told_bytes(fields, "kv_cache_bytes");
  if (const std::int64_t tokens = integer_of(fields, "kv_tokens"); tokens > 0) memory.kv_tokens = tokens;
  result.servers.push_back(std::move(memory));
}

void apply_note(const Note& note, RunResult& result) {
  const json& fields = note.fields;
  if (note.kind == "process") {
    apply_process(fields, result);
  } else if (note.kind == "cut") {
    add_once(result.cuts, text_of(fields, "text"));
  } else if (note.kind == "plan_applied" || note.kind == "plan_refused") {
    const std::string text = fmt::format("{}: {}", text_of(fields, "id"), text_of(fields, "text"));
    add_once(note.kind == "plan_applied" ? result.plan_applied : result.plan_refused, text);
  } else if (note.kind == "data_read") {
    add_data_read(result, text_of(fields, "what"), text_of(fields, "line"), integer_of(fields, "count", 1));
  } else if (note.kind == "growth" && !text_of(fields, "phase").empty()) {  // others are judged: liveness/growth
    add_remark(result.warnings, text_of(fields, "text"), 1);
  } else if (note.kind == "values" || note.kind == "assumed") {
    add_remark(result.assumed, text_of(fields, "text"), 1);
  } else if (note.kind == "hook_failed") {
    add_loss(result, LossKind::kHookFailed,
             fmt::format("{} ({} {})", text_of(fields, "where"), text_of(fields, "type"), text_of(fields, "message")));
  } else if (note.kind == "recording_stopped") {
    add_loss(result, LossKind::kRecordingStopped, text_of(fields, "text"));
  } else if (note.kind == "lines_unknown") {
    add_loss(result, LossKind::kLinesUnknown, "Python " + text_of(fields, "python"));
  } else if (note.kind == "oom" && !result.oom) {
    model::Oom oom;
    oom.message = text_of(fields, "message");
    oom.phase = text_of(fields, "phase");
    oom.stack = stack_of(fields);
    oom.loading = loading_of(fields);
    result.oom = std::move(oom);
  } else if (note.kind == "framework_memory") {
    apply_framework(fields, result);
  } else if (note.kind == "server_memory") {
    apply_server(fields, result);
  } else if (note.kind == "error") {
    apply_error(fields, result);
  }
}

}  // namespace

void apply_notes(std::span<const Recording> recordings, RunResult& result) {
  for (const Recording& recording : recordings) {
    for (const Note& note : recording.notes) apply_note(note, result);
    const bool hooked = std::ranges::any_of(recording.notes, [](const Note& note) { return note.kind == "process"; });
    if (!hooked && has_allocated(recording)) add_loss(result, LossKind::kProcessWithoutHooks, "");
  }
}

void apply_ledger_notes(const vf_ledger& ledger, RunResult& result) {
  for (const vf_ledger_note& note : ledger.notes) {
    std::string text(note.text, ::strnlen(note.text, sizeof note.text));
    switch (note.kind) {
      case VF_NOTE_NOT_MODELLED:
        add_remark(result.not_modelled, std::move(text), note.count);
        break;
      case VF_NOTE_ASSUMED:
        add_remark(result.assumed, std::move(text), note.count);
        break;
      case VF_NOTE_DATA_READ:
        add_data_read(result, std::move(text), "", note.count);
        break;
      case VF_NOTE_WARNING:
        add_remark(result.warnings, std::move(text), note.count);
        break;
      case VF_NOTE_LOSS:
        if (const auto* loss = model::find_loss(text)) add_loss(result, loss->kind, "", note.count);
        break;
      default:
        break;
    }
  }
}

void apply_odd_input(std::span<const Recording> recordings, RunResult& result) {
  for (const Recording& recording : recordings) {
    for (const auto& [name, odd] : recording.odd) {
      if (const auto* loss = model::find_loss(name)) add_loss(result, loss->kind, "", odd.count);
    }
  }
}

void sort_losses(RunResult& result) {
  std::ranges::stable_sort(result.losses, std::greater{},
                           [](const model::DataLoss& loss) { return describe(loss.kind).weight; });
}

}  // namespace vramfit::app
