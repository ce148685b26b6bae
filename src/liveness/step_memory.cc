#include "liveness/step_memory.h"

#include <algorithm>
#include <map>
#include <utility>

#include "liveness/owners.h"
#include "model/number_text.h"
#include "model/recording.h"

namespace vramfit::liveness {

using model::GrowingLine;
using model::InputWork;
using model::Recording;

namespace {

constexpr std::size_t kMostLinesOfAStep = 5;

// Blocks in the order of their births and deaths: calls use(block, is_birth, event).
template <class Chosen, class Use>
void sweep(const CardHistory& history, Chosen chosen, Use use) {
  struct Change {
    EventIndex at;
    bool birth;
    const Block* block;
  };
  std::vector<Change> changes;
  for (const Block& block : history.blocks) {
    if (!chosen(block)) continue;
    changes.push_back({block.born, true, &block});
    if (block.died != kNever) changes.push_back({block.died, false, &block});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  for (const Change& change : changes) use(*change.block, change.birth, change.at);
}

// The event at which the chosen blocks held most together, and how much that was.
template <class Chosen>
std::pair<EventIndex, Bytes> highest(const CardHistory& history, Chosen chosen) {
  Bytes now, most;
  EventIndex at_most = kNever;
  sweep(history, chosen, [&](const Block& block, bool birth, EventIndex at) {
    now += birth ? block.size : -block.size;
    if (now > most) {
      most = now;
      at_most = at;
    }
  });
  return {at_most, most};
}

template <class Chosen>
std::vector<GrowingLine> lines_at(const CardHistory& history, std::span<const Recording> recordings, EventIndex at,
                                  Chosen chosen) {
  std::map<std::string, GrowingLine> lines;
  for (const Block& block : history.blocks) {
    if (!block.lives_at(at) || !chosen(block)) continue;
    const Recording& recording = recordings[static_cast<std::size_t>(block.process)];
    GrowingLine& line = lines[std::string(recording.text(block.line))];
    line.line = recording.text(block.line);
    if (line.scope.empty()) line.scope = recording.text(block.scope);
    line.stage = model::stage_name(block.stage == VF_STAGE_INPUT ? VF_STAGE_INPUT : VF_STAGE_FORWARD);
    line.live += block.size;
  }
  std::vector<GrowingLine> sorted;
  for (auto& [text, line] : lines) sorted.push_back(std::move(line));
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.live > b.live; });
  if (sorted.size() > kMostLinesOfAStep) sorted.resize(kMostLinesOfAStep);
  return sorted;
}

// The event at which `allocated` first stood at its highest within a phase.
EventIndex phase_peak(const CardHistory& history, std::uint8_t phase) {
  EventIndex best = kNever;
  for (EventIndex at = 0; at < history.levels.size(); ++at) {
    if (history.levels[at].phase != phase) continue;
    if (best == kNever || history.levels[at].allocated > history.levels[best].allocated) best = at;
  }
  return best;
}

const Block* born_at(const CardHistory& history, EventIndex at) {
  const auto found = std::lower_bound(history.blocks.begin(), history.blocks.end(), at,
                                      [](const Block& block, EventIndex event) { return block.born < event; });
  return found != history.blocks.end() && found->born == at ? &*found : nullptr;
}

}  // namespace

std::vector<StepPeak> find_step_peaks(const CardHistory& history) {
  std::vector<StepPeak> peaks;
  std::map<int, StepPeak> open;
  std::size_t next = 0;
  for (EventIndex at = 0; at < history.levels.size(); ++at) {
    const Level& moment = history.levels[at];
    StepPeak& current = open[moment.process];
    current.process = moment.process;
    current.allocated = std::max(current.allocated, moment.allocated);
    if (moment.phase == VF_PHASE_TRAIN || moment.phase == VF_PHASE_VALIDATE || moment.phase == VF_PHASE_TEST) {
      current.phase = moment.phase;
    }
    if (next == history.step_ends.size() || history.step_ends[next].at != at) continue;
    const StepEnd& end = history.step_ends[next++];
    current.phase = end.phase;
    current.number = end.number;
    peaks.push_back(current);
    open.erase(moment.process);
  }
  std::map<std::pair<int, std::uint8_t>, std::int64_t> last;
  for (const StepPeak& peak : peaks) last[{peak.process, peak.phase}] = peak.number;
  for (auto& [process, unfinished] : open) {
    unfinished.number = last[{process, unfinished.phase}] + 1;
    peaks.push_back(unfinished);
  }
  return peaks;
}

std::vector<InputWork> find_input_work(const CardHistory& history, std::span<const Recording> recordings,
                                       const std::set<std::string>& input_modules,
                                       const std::set<ThreadOfProcess>& loader_threads) {
  std::map<std::pair<int, std::uint32_t>, bool> prepares;  // (process, scope)
  const auto is_preparation = [&](const Block& block) {
    if (block.scope == 0) return false;
    const auto [known, fresh] = prepares.emplace(std::pair(block.process, block.scope), false);
    if (fresh) {
      const auto text = recordings[static_cast<std::size_t>(block.process)].text(block.scope);
      known->second = input_modules.contains(std::string(text));
    }
    return known->second;
  };
  // The first batch comes before the first forward pass, while the job counts as loading: later ones show the same.
  const bool trains = std::any_of(history.levels.begin(), history.levels.end(),
                                  [](const Level& moment) { return moment.phase != VF_PHASE_LOAD; });
  std::vector<InputWork> found;
  for (const std::uint8_t phase : {VF_PHASE_LOAD, VF_PHASE_TRAIN, VF_PHASE_VALIDATE, VF_PHASE_TEST}) {
    if (phase == VF_PHASE_LOAD && trains) continue;
    const auto is_work = [&](const Block& block) {
      return block.phase == phase && block.owner != VF_OWNER_INPUT && !is_model_state(block) &&
             (block.stage == VF_STAGE_INPUT || is_preparation(block)) &&
             !loader_threads.contains({block.process, block.thread});
    };
    const auto [at_most, most] = highest(history, is_work);
    const EventIndex peak = phase_peak(history, phase);
    if (at_most == kNever || peak == kNever) continue;
    InputWork work;
    work.device = history.device;
    work.phase = model::phase_name(phase);
    work.stage_peak = most;
    for (const Block& block : history.blocks) {
      if (!block.lives_at(peak)) continue;
      if (is_work(block)) work.at_peak += block.size;
      if (block.owner == VF_OWNER_INPUT) work.inputs_at_peak += block.size;
    }
    const Block* highest_block = born_at(history, peak);
    work.peak_is_here = highest_block != nullptr && (highest_block->stage == VF_STAGE_INPUT || is_work(*highest_block));
    work.lines = lines_at(history, recordings, at_most, is_work);
    found.push_back(std::move(work));
  }
  return found;
}

std::optional<model::FirstOptimizerStep> find_first_step(const CardHistory& history) {
  model::FirstOptimizerStep first;
  first.device = history.device;
  EventIndex begin = kNever, end = kNever;
  for (EventIndex at = 0; at < history.levels.size() && begin == kNever; ++at) {
    if (history.levels[at].stage == VF_STAGE_OPTIMIZER && history.levels[at].phase == VF_PHASE_TRAIN) begin = at;
  }
  for (const StepEnd& step : history.step_ends) {
    if (step.phase == VF_PHASE_TRAIN && end == kNever) end = step.at;
  }
  if (begin == kNever) return std::nullopt;
  first.out_of_memory = end == kNever && !history.ooms.empty() && history.ooms.back().stage == VF_STAGE_OPTIMIZER;
  const EventIndex until = end == kNever ? static_cast<EventIndex>(history.levels.size() - 1) : end;
  for (const Block& block : history.blocks) {
    const bool made = block.stage == VF_STAGE_OPTIMIZER && block.born >= begin && block.born <= until;
    // A process that ran out of memory took its temporaries with it: what was freed by the end was none of the state.
    if (made && (block.died == kNever || !block.freed || (end != kNever && block.lives_at(end))))
      first.state += block.size;
  }
  for (EventIndex at = 0; at < history.levels.size(); ++at) {
    Bytes& peak = at < begin ? first.peak_before : first.peak_after;
    if (at < begin || history.levels[at].phase == VF_PHASE_TRAIN) peak = std::max(peak, history.levels[at].allocated);
  }
  return first;
}

model::ThreadMemory find_thread_memory(const CardHistory& history, std::span<const Recording> recordings, int process,
                                       std::uint32_t thread) {
  const auto is_its = [&](const Block& block) { return block.process == process && block.thread == thread; };
  model::ThreadMemory memory;
  memory.device = history.device;
  const auto [at, most] = highest(history, is_its);
  memory.peak = most;
  if (at == kNever) return memory;
  const auto lines = lines_at(history, recordings, at, is_its);
  if (!lines.empty()) memory.line = lines.front().line;
  return memory;
}

EventIndex event_at(const CardHistory& history, std::int64_t at_ns) {
  const auto after = std::upper_bound(history.levels.begin(), history.levels.end(), at_ns - history.started_at_ns,
                                      [](std::int64_t time, const Level& moment) { return time < moment.at_ns; });
  return after == history.levels.begin() ? kNever : static_cast<EventIndex>(after - history.levels.begin() - 1);
}

const Block* block_at(const CardHistory& history, int process, std::uint64_t address, EventIndex at) {
  if (at == kNever) return nullptr;
  for (const Block& block : history.blocks) {
    if (block.born > at) break;
    if (block.process == process && block.lives_at(at) && address >= block.address &&
        address < block.address + static_cast<std::uint64_t>(block.size.count())) {
      return &block;
    }
  }
  return nullptr;
}

}  // namespace vramfit::liveness
