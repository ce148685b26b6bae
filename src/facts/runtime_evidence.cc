#include "facts/runtime_evidence.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "facts/diagnosed.h"
#include "facts/recordings.h"
#include "facts/wide_outputs.h"
#include "liveness/growth.h"
#include "liveness/owners.h"
#include "liveness/step_memory.h"
#include "model/number_text.h"

namespace vramfit::facts {

using base::Bytes;
using liveness::CardHistory;
using liveness::EventIndex;
using model::Recording;
using model::RuntimeEvidence;

namespace {

constexpr std::size_t kMostInputs = 512;
constexpr std::size_t kMostLogitLines = 5;

void add_contexts(const Process& process, RuntimeEvidence& evidence) {
  for (const CardUse& use : process.cards) {
    model::ContextOnCard context;
    context.pid = process.pid;
    context.device = use.device;
    context.role = process.role;
    context.rank = process.rank;
    context.world_size = process.world_size;
    context.local_rank = process.local_rank;
    context.context = use.context;
    context.libraries = use.libraries;
    context.peak_allocated = use.peak_allocated;
    evidence.contexts.push_back(std::move(context));
  }
}

std::optional<model::OomState> last_oom(const RunFacts& facts) {
  const CardHistory* where = nullptr;
  for (const CardHistory& history : facts.histories) {
    if (!history.ooms.empty()) where = &history;
  }
  if (where == nullptr) return std::nullopt;
  const liveness::OomEvent& event = where->ooms.back();
  const auto process = static_cast<std::size_t>(event.process);
  const Recording& recording = recordings_of(facts)[process];
  model::OomState oom;
  oom.device = where->device;
  oom.phase = model::phase_name(event.phase);
  oom.stage = model::stage_name(event.stage);
  oom.scope = recording.text(event.scope);
  oom.line = recording.text(event.line);
  oom.tried = event.tried;
  oom.allocated = where->levels[event.at].allocated;
  oom.reserved = where->levels[event.at].reserved;
  for (const auto& [thread, role] : facts.processes[process].threads) {
    if (thread == event.thread) oom.thread = role;
  }
  for (const liveness::StepEnd& end : where->step_ends) {
    if (end.process != event.process || end.at > event.at) continue;
    (end.phase == VF_PHASE_TRAIN ? oom.train_steps : oom.evaluation_steps) += 1;
  }
  return oom;
}

// The steps' peaks go to the inputs that the hooks noted under the same phase and number.
void add_peaks(std::span<const CardHistory> histories, RuntimeEvidence& evidence) {
  std::map<std::pair<std::string, std::int64_t>, Bytes> peaks;
  for (const CardHistory& history : histories) {
    for (const liveness::StepPeak& peak : find_step_peaks(history)) {
      Bytes& known = peaks[{std::string(model::phase_name(peak.phase)), peak.number}];
      known = std::max(known, peak.allocated);
    }
  }
  for (model::StepInput& input : evidence.inputs) {
    const auto peak = peaks.find({input.phase, input.step});
    if (peak != peaks.end()) input.peak_allocated = peak->second;
  }
  if (evidence.inputs.size() <= kMostInputs) return;
  std::stable_sort(evidence.inputs.begin(), evidence.inputs.end(),
                   [](const auto& a, const auto& b) { return a.peak_allocated > b.peak_allocated; });
  evidence.inputs.resize(kMostInputs);
}

// Blocks as large as `rows` x `classes` elements of 2, 4 or 8 bytes; one row a sequence less where labels are shifted.
// A block may be 1 MiB larger than its tensor: PyTorch splits off no less.
struct LogitSizes {
  std::int64_t least, most;
  bool contains(std::int64_t size) const { return size >= least && size < most; }
};

LogitSizes sizes_of(const WideOutput& output, std::int64_t element) {
  constexpr std::int64_t kUnsplit = 1 << 20;
  const std::int64_t whole = output.rows * output.classes * element;
  const bool tokens = output.classes >= 1000;
  return {tokens ? whole - whole / 16 : whole, whole + kUnsplit};
}

model::Logits find_logits(const CardHistory& history, std::span<const Recording> recordings, EventIndex at,
                          const WideOutput& output) {
  model::Logits logits{history.device, output.module, output.classes, output.rows, output.shape, Bytes(0), 0, 0, {}};
  const LogitSizes of_2 = sizes_of(output, 2), of_4 = sizes_of(output, 4), of_8 = sizes_of(output, 8);
  std::set<std::string> lines;
  for (const liveness::Block& block : history.blocks) {
    if (!block.lives_at(at) || liveness::is_model_state(block)) continue;
    const std::int64_t size = block.size.count();
    if (!of_2.contains(size) && !of_4.contains(size) && !of_8.contains(size)) continue;
    logits.at_peak += block.size;
    ++logits.blocks_at_peak;
    logits.of_4_bytes += of_4.contains(size);
    const std::string_view line = recordings[static_cast<std::size_t>(block.process)].text(block.line);
    if (!line.empty() && lines.size() < kMostLogitLines) lines.emplace(line);
  }
  logits.lines.assign(lines.begin(), lines.end());
  return logits;
}

std::set<std::string> input_modules_of(std::span<const Recording> recordings) {
  std::set<std::string> names;
  for (const Recording& recording : recordings) {
    for (const auto& module : recording.notes.input_module) names.insert(module.name);
  }
  return names;
}

// The optimizer's class and what its state is going to take, as noted before its first step.
void name_optimizer(std::span<const Recording> recordings, model::FirstOptimizerStep& step) {
  for (const Recording& recording : recordings) {
    for (const auto& begins : recording.notes.optimizer_begins) {
      if (!step.optimizer.empty()) return;
      step.optimizer = begins.class_name;
      if (begins.expected_bytes) step.expected_state = *begins.expected_bytes;
    }
  }
}

void add_threads(const RunFacts& facts, const CardHistory& history, RuntimeEvidence& evidence) {
  for (std::size_t process = 0; process < facts.processes.size(); ++process) {
    for (const auto& [thread, role] : facts.processes[process].threads) {
      model::ThreadMemory memory = find_thread_memory(history, recordings_of(facts), static_cast<int>(process), thread);
      if (memory.peak.count() == 0) continue;
      memory.pid = facts.processes[process].pid;
      memory.role = role;
      evidence.threads.push_back(std::move(memory));
    }
  }
}

std::set<liveness::ThreadOfProcess> loader_threads(const RunFacts& facts) {
  std::set<liveness::ThreadOfProcess> found;
  for (std::size_t process = 0; process < facts.processes.size(); ++process) {
    for (const auto& [thread, role] : facts.processes[process].threads) {
      found.emplace(static_cast<int>(process), thread);
    }
  }
  return found;
}

void measure_card(const RunFacts& facts, const CardHistory& history, EventIndex at, RuntimeEvidence& evidence) {
  const std::vector<Recording>& recordings = recordings_of(facts);
  for (model::InputWork& work :
       find_input_work(history, recordings, input_modules_of(recordings), loader_threads(facts))) {
    evidence.input_work.push_back(std::move(work));
  }
  if (auto first = find_first_step(history)) {
    name_optimizer(recordings, *first);
    evidence.first_steps.push_back(std::move(*first));
  }
  add_threads(facts, history, evidence);
  if (at == liveness::kNever) return;
  for (const WideOutput& output : read_wide_outputs(recordings)) {
    if (output.rows == 0) continue;
    model::Logits logits = find_logits(history, recordings, at, output);
    if (logits.blocks_at_peak > 0) evidence.logits.push_back(std::move(logits));
  }
}

// The hooks saw peaks rise round after round, and the recording does not show what of it stays.
void add_noted_growth(std::span<const Recording> recordings, RuntimeEvidence& evidence) {
  const bool is_noted = std::ranges::any_of(recordings, [](const Recording& recording) {
    return std::ranges::any_of(recording.notes.growth, [](const auto& growth) { return growth.phase.empty(); });
  });
  const bool is_known =
      std::ranges::any_of(evidence.growth, [](const auto& growth) { return growth.phase == "train"; });
  if (!is_noted || is_known) return;
  model::Growth growth;
  growth.phase = "train";
  growth.of_peak = true;
  growth.steps = liveness::kFewestStepsToWarn;
  evidence.growth.push_back(std::move(growth));
}

bool is_diagnosed(std::span<const Recording> recordings) {
  return std::ranges::any_of(recordings, [](const Recording& recording) { return !recording.notes.diagnosed.empty(); });
}

}  // namespace

RuntimeEvidence gather_runtime_evidence(const RunFacts& facts, const ChooseEvent& choose) {
  const std::vector<Recording>& recordings = recordings_of(facts);
  RuntimeEvidence evidence;
  for (const Process& process : facts.processes) add_contexts(process, evidence);
  evidence.oom = last_oom(facts);
  for (const CardHistory& history : facts.histories) {
    for (model::Growth& growth : find_growth(history, recordings)) evidence.growth.push_back(std::move(growth));
  }
  add_noted_growth(recordings, evidence);
  if (!is_diagnosed(recordings)) return evidence;
  for (const CardHistory& history : facts.histories) measure_card(facts, history, choose(history), evidence);
  apply_runtime_notes(recordings, facts.histories, evidence);
  add_peaks(facts.histories, evidence);
  return evidence;
}

}  // namespace vramfit::facts
