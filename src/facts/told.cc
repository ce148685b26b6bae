#include "facts/told.h"

#include <fmt/format.h>
#include <vramfit/ledger.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <string>

#include "facts/recordings.h"
#include "model/data_loss.h"
#include "model/recording.h"

namespace vramfit::facts {

using model::LossKind;
using model::Notes;
using model::Recording;
using model::Remark;
namespace notes = model::notes;

namespace {

// Errors by which launchers (torchrun, torch.multiprocessing.spawn) report that a rank failed.
constexpr std::array<std::string_view, 3> kLaunchersErrors{"ChildFailedError", "ProcessRaisedException",
                                                           "ProcessExitedException"};

std::vector<model::StackFrame> stack_of(const std::vector<notes::StackFrame>& frames) {
  std::vector<model::StackFrame> stack;
  for (const notes::StackFrame& frame : frames) {
    stack.push_back({frame.file, static_cast<int>(frame.line), frame.function, frame.code});
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

void add_loss(Told& into, LossKind kind, std::string detail, std::int64_t count = 1) {
  for (model::DataLoss& known : into.losses) {
    if (known.kind == kind && known.detail == detail) {
      known.count += count;
      return;
    }
  }
  into.losses.push_back({kind, count, std::move(detail)});
}

// Whether PyTorch allocated anything on a card. A process that only asks how much is free makes no more than a context.
bool has_allocated(const Recording& recording) {
  return std::ranges::any_of(recording.records, [](const vf_record& record) {
    return record.kind == VF_RECORD_BLOCK_ALLOC || record.kind == VF_RECORD_SEGMENT_ALLOC;
  });
}

void add_data_read(Told& into, model::DataDependence read) {
  for (model::DataDependence& known : into.depends_on_data) {
    if (known.what == read.what && known.line == read.line) {
      known.count += read.count;
      return;
    }
  }
  into.depends_on_data.push_back(std::move(read));
}

void apply_process(const notes::Process& process, Told& into) {
  for (const auto& [text, version] : {std::pair(&process.torch, &into.torch), std::pair(&process.cuda, &into.cuda),
                                      std::pair(&process.python, &into.python)}) {
    if (!text->empty()) *version = *text;
  }
}

// The first of several processes' errors counts. That of a launcher counts only if none of its ranks told one.
void apply_error(const notes::Error& error, Told& into) {
  into.failed_after_read |= error.after_read;
  if (!into.error || std::ranges::find(kLaunchersErrors, into.error->type) != kLaunchersErrors.end()) {
    const bool before = into.error && into.error->after_cut;
    into.error = {error.type, error.message, stack_of(error.stack), before};
  }
  into.error->after_cut |= error.after_cut;
}

void apply_oom(const notes::Oom& note, Told& into) {
  if (into.oom) return;
  model::Oom oom;
  oom.message = note.message;
  oom.phase = note.phase;
  oom.stack = stack_of(note.stack);
  if (const auto& loading = note.loading) {
    oom.loading = model::LoadingFacts{loading->how, loading->root, loading->module, loading->on_card_bytes,
                                      loading->to_come_bytes};
  }
  into.oom = std::move(oom);
}

void apply_framework(const notes::FrameworkMemory& note, Told& into) {
  model::FrameworkMemory memory;
  memory.name = note.framework;
  memory.version = note.version;
  memory.device = static_cast<int>(note.device);
  memory.peak = note.peak_bytes;
  if (note.pool_bytes && note.pool_bytes->count() > 0) memory.pool = note.pool_bytes;
  if (memory.peak.count() > 0) into.frameworks.push_back(std::move(memory));
}

void apply_server(const notes::ServerMemory& note, Told& into) {
  model::ServerMemory memory;
  memory.name = note.framework;
  memory.version = note.version;
  memory.device = static_cast<int>(note.device);
  memory.weights = note.weights_bytes;
  memory.activations = note.activation_bytes;
  memory.outside = note.outside_bytes;
  memory.graphs = note.graph_bytes;
  memory.kv_cache = note.kv_cache_bytes;
  if (note.kv_tokens.value_or(0) > 0) memory.kv_tokens = note.kv_tokens;
  into.servers.push_back(std::move(memory));
}

void apply_losses(const Notes& notes, Told& into) {
  for (const auto& failed : notes.hook_failed) {
    const std::string at = failed.at.empty() ? "" : " at " + failed.at;
    add_loss(into, LossKind::kHookFailed, fmt::format("{} ({} {}{})", failed.where, failed.type, failed.message, at));
  }
  for (const auto& gone : notes.name_gone) {
    const std::string detail = fmt::format("{} {}: `{}` is gone: {}", gone.library, gone.version, gone.name, gone.lost);
    const auto known = [&](const model::DataLoss& loss) {
      return loss.kind == LossKind::kNameGone && loss.detail == detail;
    };
    if (std::ranges::none_of(into.losses, known)) add_loss(into, LossKind::kNameGone, detail);  // each process says it
  }
  for (const auto& stopped : notes.recording_stopped) add_loss(into, LossKind::kRecordingStopped, stopped.text);
  for (const auto& unseen : notes.blocks_unseen) {
    add_loss(into, LossKind::kBlocksUnseen, fmt::format("torch {}, allocator {}", unseen.torch, unseen.allocator));
  }
  for (const auto& unknown : notes.lines_unknown) {
    add_loss(into, LossKind::kLinesUnknown, "Python " + unknown.python);
  }
}

void apply_notes_of_process(const Notes& notes, Told& into) {
  for (const auto& process : notes.process) apply_process(process, into);
  for (const auto& cut : notes.cut) {
    add_once(into.cuts, cut.text);
    into.counted_on |= cut.what == notes::CutKind::kCounted;
  }
  for (const auto& plan : notes.plan_applied) into.plan_applied.push_back({plan.id, plan.text});
  for (const auto& effect : notes.plan_effect) into.plan_effects.push_back({effect.id, effect.text});
  for (const auto& plan : notes.plan_refused) into.plan_refused.push_back({plan.id, plan.text});
  for (const auto& read : notes.data_read) add_data_read(into, {read.what, read.line, read.count, read.is_branch});
  for (const auto& growth : notes.growth) {
    if (growth.phase) add_remark(into.warnings, growth.text, 1);  // others are judged: liveness/growth
  }
  for (const auto& values : notes.values) add_remark(into.assumed, values.text, 1);
  for (const auto& assumed : notes.assumed) add_remark(into.assumed, assumed.text, 1);
  apply_losses(notes, into);
  for (const auto& oom : notes.oom) apply_oom(oom, into);
  for (const auto& framework : notes.framework_memory) apply_framework(framework, into);
  for (const auto& server : notes.server_memory) apply_server(server, into);
  for (const auto& error : notes.error) apply_error(error, into);
}

// What the reader of the recordings could not use.
void add_unread_input(const Recording& recording, Told& into) {
  for (const auto& [name, unread] : recording.unread) {
    if (const auto* loss = model::find_loss(name)) add_loss(into, loss->kind, unread.first, unread.count);
  }
}

}  // namespace

Told read_told(std::span<const Recording> recordings) {
  Told into;
  for (const Recording& recording : recordings) {
    apply_notes_of_process(recording.notes, into);
    for (const auto& note : recording.notes.snapshot) {
      into.snapshots.push_back({recording.pid, note.file, note.name, note.by_script});
    }
    if (recording.notes.process.empty() && has_allocated(recording)) {
      add_loss(into, LossKind::kProcessWithoutHooks, "");
    }
  }
  for (const Recording& recording : recordings) add_unread_input(recording, into);
  return into;
}

void add_ledger_notes(const vf_ledger& ledger, Told& into) {
  for (const vf_ledger_note& note : ledger.notes) {
    std::string text(note.text, ::strnlen(note.text, sizeof note.text));
    switch (note.kind) {
      case VF_NOTE_NOT_MODELLED:
        add_remark(into.not_modelled, std::move(text), note.count);
        break;
      case VF_NOTE_ASSUMED:
        add_remark(into.assumed, std::move(text), note.count);
        break;
      case VF_NOTE_DATA_READ:
        add_data_read(into, {std::move(text), "", note.count});
        break;
      case VF_NOTE_WARNING:
        add_remark(into.warnings, std::move(text), note.count);
        break;
      case VF_NOTE_LOSS:
        if (const auto* loss = model::find_loss(text)) add_loss(into, loss->kind, "", note.count);
        break;
      default:
        break;
    }
  }
}

void add_unknown_cards(std::span<const Recording> recordings, int cards, Told& into) {
  for (const Recording& recording : recordings) {
    const auto count = std::ranges::count_if(recording.records, [&](const vf_record& record) {
      return record.kind != 0 && record.device >= cards && record.device != kHostDevice;
    });
    if (count > 0) add_loss(into, LossKind::kRecordCardUnknown, "", count);
  }
}

void sort_losses(Told& into) {
  std::ranges::stable_sort(into.losses, std::greater{},
                           [](const model::DataLoss& loss) { return describe(loss.kind).weight; });
}

}  // namespace vramfit::facts
