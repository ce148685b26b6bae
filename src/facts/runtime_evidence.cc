#include "facts/runtime_evidence.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "facts/diagnosed.h"
#include "liveness/growth.h"
#include "liveness/passes.h"
#include "liveness/step_memory.h"
#include "model/number_text.h"
#include "model/recording.h"

namespace vramfit::facts {

using base::Bytes;
using liveness::CardHistory;
using model::Recording;
using model::RuntimeEvidence;

namespace {

constexpr std::size_t kMostInputs = 512;

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
    evidence.contexts.push_back(context);
  }
}

std::optional<model::OomState> last_oom(std::span<const Recording> recordings, std::span<const Process> processes,
                                        std::span<const CardHistory> histories) {
  const CardHistory* where = nullptr;
  for (const CardHistory& history : histories) {
    if (!history.ooms.empty()) where = &history;
  }
  if (where == nullptr) return std::nullopt;
  const liveness::OomEvent& event = where->ooms.back();
  const auto process = static_cast<std::size_t>(event.process);
  const Recording& recording = recordings[process];
  model::OomState oom;
  oom.device = where->device;
  oom.phase = model::phase_name(event.phase);
  oom.stage = model::stage_name(event.stage);
  oom.scope = recording.text(event.scope);
  oom.line = recording.text(event.line);
  oom.tried = event.tried;
  oom.allocated = where->levels[event.at].allocated;
  oom.reserved = where->levels[event.at].reserved;
  for (const auto& [thread, role] : processes[process].threads) {
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

void add_threads(std::span<const Recording> recordings, std::span<const Process> processes, const CardHistory& history,
                 RuntimeEvidence& evidence) {
  for (std::size_t process = 0; process < processes.size(); ++process) {
    for (const auto& [thread, role] : processes[process].threads) {
      model::ThreadMemory memory = find_thread_memory(history, recordings, static_cast<int>(process), thread);
      if (memory.peak.count() == 0) continue;
      memory.pid = processes[process].pid;
      memory.role = role;
      evidence.threads.push_back(std::move(memory));
    }
  }
}

std::set<liveness::ThreadOfProcess> loader_threads(std::span<const Process> processes) {
  std::set<liveness::ThreadOfProcess> found;
  for (std::size_t process = 0; process < processes.size(); ++process) {
    for (const auto& [thread, role] : processes[process].threads) {
      found.emplace(static_cast<int>(process), thread);
    }
  }
  return found;
}

void measure_card(std::span<const Recording> recordings, std::span<const Process> processes, const CardHistory& history,
                  RuntimeEvidence& evidence) {
  for (model::InputWork& work :
       find_input_work(history, recordings, input_modules_of(recordings), loader_threads(processes))) {
    evidence.input_work.push_back(std::move(work));
  }
  if (auto first = find_first_step(history)) {
    name_optimizer(recordings, *first);
    evidence.first_steps.push_back(std::move(*first));
  }
  add_threads(recordings, processes, history, evidence);
}

// The hooks saw peaks rise round after round, and the recording does not show what of it stays.
void add_noted_growth(std::span<const Recording> recordings, RuntimeEvidence& evidence) {
  const bool is_noted = std::ranges::any_of(recordings, [](const Recording& recording) {
    return std::ranges::any_of(recording.notes.growth, [](const auto& growth) { return !growth.phase; });
  });
  const bool is_known =
      std::ranges::any_of(evidence.growth, [](const auto& growth) { return growth.phase == model::phase::kTrain; });
  if (!is_noted || is_known) return;
  model::Growth growth;
  growth.phase = model::phase::kTrain;
  growth.of_peak = true;
  growth.steps = liveness::kFewestStepsToWarn;
  evidence.growth.push_back(std::move(growth));
}

// The script's line that made most of what the collector freed when it was asked.
std::string line_of_collected(std::span<const Recording> recordings, std::span<const CardHistory> histories) {
  std::map<std::string, Bytes> lines;
  for (const CardHistory& history : histories) {
    for (const liveness::Block& block : history.blocks) {
      if (!block.collected || block.line == 0) continue;
      lines[std::string(recordings[static_cast<std::size_t>(block.process)].text(block.line))] += block.size;
    }
  }
  const auto most = std::ranges::max_element(lines, {}, [](const auto& line) { return line.second; });
  return most == lines.end() ? "" : most->first;
}

std::optional<model::Collector> read_collector(std::span<const Recording> recordings,
                                               std::span<const CardHistory> histories) {
  std::optional<model::Collector> collector;
  for (const Recording& recording : recordings) {
    for (const auto& note : recording.notes.collected) {
      if (!collector) collector.emplace();
      collector->is_on &= note.is_on;
      collector->freed = std::max(collector->freed, note.freed_bytes);
    }
  }
  if (collector) collector->line = line_of_collected(recordings, histories);
  return collector;
}

bool is_diagnosed(std::span<const Recording> recordings) {
  return std::ranges::any_of(recordings, [](const Recording& recording) { return !recording.notes.diagnosed.empty(); });
}

}  // namespace

RuntimeEvidence read_evidence(std::span<const Recording> recordings, std::span<const Process> processes,
                              std::span<const CardHistory> histories) {
  RuntimeEvidence evidence;
  for (const Process& process : processes) add_contexts(process, evidence);
  evidence.oom = last_oom(recordings, processes, histories);
  for (const CardHistory& history : histories) {
    for (model::Growth& growth : find_growth(history, recordings)) evidence.growth.push_back(std::move(growth));
  }
  add_noted_growth(recordings, evidence);
  if (!is_diagnosed(recordings)) return evidence;
  for (const CardHistory& history : histories) {
    // A loop around a model is told by its calls; any other, by lines that come round.
    auto of_calls = find_growth_of_calls(history, recordings);
    if (of_calls.empty()) of_calls = find_growth_of_passes(history, recordings);
    std::ranges::move(of_calls, std::back_inserter(evidence.growth));
    evidence.judged_passes = std::max(
        {evidence.judged_passes, count_judged_calls(history, recordings), count_judged_passes(history, recordings)});
  }
  for (const CardHistory& history : histories) {
    evidence.judged_steps = std::max(evidence.judged_steps, count_judged_steps(history, recordings));
  }
  evidence.collector = read_collector(recordings, histories);
  for (const CardHistory& history : histories) measure_card(recordings, processes, history, evidence);
  apply_runtime_notes(recordings, histories, evidence);
  add_peaks(histories, evidence);
  return evidence;
}

}  // namespace vramfit::facts
