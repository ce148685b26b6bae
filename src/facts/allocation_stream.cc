// One process' blocks on a card, for playing them again under a plan (plan/stream).
#include "facts/allocation_stream.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "facts/module_calls.h"
#include "facts/recordings.h"
#include "liveness/lifetimes.h"
#include "liveness/owners.h"

namespace vramfit::facts {
namespace {

using liveness::CardHistory;
using liveness::EventIndex;

// More than that is a recording of minutes, whose blocks would take longer to play than a run takes.
constexpr std::size_t kMostBlocksPlayed = 600000;

struct Passes {
  std::vector<model::StreamPass> whole;
  EventIndex unfinished = liveness::kNever;  // where the last forward begins, if no backward came after it
};

Passes find_passes(const CardHistory& history) {
  Passes found;
  bool is_open = false, has_turned = false;
  for (EventIndex at = 0; at < history.levels.size(); ++at) {
    const liveness::Level& level = history.levels[at];
    if (level.phase != VF_PHASE_TRAIN) continue;
    if (level.stage == VF_STAGE_FORWARD) {
      if (!is_open || has_turned) found.whole.push_back({at, at, at});
      is_open = true;
      has_turned = false;
    } else if (level.stage == VF_STAGE_BACKWARD && is_open) {
      if (!has_turned) found.whole.back().turn = at;
      has_turned = true;
      found.whole.back().end = at + 1;
    }
  }
  if (is_open && !has_turned) {
    found.unfinished = found.whole.back().begin;
    found.whole.pop_back();
  }
  return found;
}

// Where a run was ended within a step, what its last forward keeps would never be let go, and be thought to be held at
// once whatever a plan does to steps: the stream ends before it. Not where nothing was as high before, or where other
// phases come after it.
EventIndex find_end(const CardHistory& history, const Passes& passes) {
  const EventIndex end = passes.unfinished;
  if (end == liveness::kNever || passes.whole.empty()) return liveness::kNever;
  const auto peak_of = [](auto levels) {
    base::Bytes most;
    for (const liveness::Level& level : levels) most = std::max(most, level.reserved);
    return most;
  };
  const std::span levels(history.levels);
  const auto after = levels.subspan(end);
  const auto is_training = [](const liveness::Level& level) { return level.phase == VF_PHASE_TRAIN; };
  const bool is_peak = peak_of(after) > peak_of(levels.first(end));
  return is_peak || !std::ranges::all_of(after, is_training) ? liveness::kNever : end;
}

// Segments go while the job runs only when somebody asks for it: memory is plenty.
std::vector<model::StreamTime> find_emptied(const CardHistory& history) {
  std::vector<model::StreamTime> gone;
  const EventIndex last = history.blocks.empty() ? 0 : history.blocks.back().born;
  for (const liveness::Segment& segment : history.segments) {
    if (segment.died < last) gone.push_back(segment.died);
  }
  std::ranges::sort(gone);
  std::vector<model::StreamTime> first;
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (i == 0 || gone[i] > gone[i - 1] + 1) first.push_back(gone[i]);
  }
  return first;
}

class ModuleIndex {
 public:
  explicit ModuleIndex(const model::Recording& recording) : recording_(recording) {
    struct Noted {
      base::Bytes output;
      ModuleReading reading;
    };
    std::map<std::string_view, Noted> modules;
    for (const auto& note :
         recording.notes.module_memory) {  // of the first forward and the second, of equals the later
      if (note.name.empty()) continue;
      const auto [known, is_new] = modules.try_emplace(note.name);
      if (!is_new && note.output_bytes < known->second.output) continue;
      known->second = {note.output_bytes, {note.saved_bytes, note.calls}};
    }
    for (const auto& [name, noted] : modules) {  // by name: those around a module come before it
      modules_.push_back({std::string(name), find(outer_of(name)), noted.output});
      readings_.push_back(noted.reading);
      places_.emplace(name, static_cast<std::int32_t>(modules_.size() - 1));
    }
  }

  std::int32_t of_scope(std::uint32_t scope) {
    if (scope == 0) return -1;
    const auto [known, is_new] = of_scope_.emplace(scope, -1);
    if (is_new) known->second = find(recording_.text(scope));
    return known->second;
  }

  const std::vector<ModuleReading>& readings() const { return readings_; }
  std::vector<model::StreamModule> take() { return std::move(modules_); }

 private:
  static std::string_view outer_of(std::string_view name) {
    const auto dot = name.rfind('.');
    return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
  }

  std::int32_t find(std::string_view name) const {
    for (; !name.empty(); name = outer_of(name)) {
      const auto place = places_.find(name);
      if (place != places_.end()) return place->second;
    }
    return -1;
  }

  const model::Recording& recording_;
  std::vector<model::StreamModule> modules_;
  std::vector<ModuleReading> readings_;  // by module
  std::map<std::string, std::int32_t, std::less<>> places_;
  std::map<std::uint32_t, std::int32_t> of_scope_;
};

}  // namespace

std::shared_ptr<const model::AllocationStream> find_allocation_stream(const RunFacts& facts, int device,
                                                                      const std::string& torch_version) {
  const CardHistory* history = facts.history_of(device);
  if (history == nullptr || history->blocks.empty() || history->blocks.size() > kMostBlocksPlayed) return nullptr;
  const int process = history->blocks.front().process;
  const auto is_foreign = [&](const liveness::Block& block) { return block.process != process; };
  if (std::ranges::any_of(history->blocks, is_foreign)) return nullptr;
  ModuleIndex modules(recordings_of(facts)[static_cast<std::size_t>(process)]);
  auto stream = std::make_shared<model::AllocationStream>();
  stream->blocks.reserve(history->blocks.size());
  Passes passes = find_passes(*history);
  const EventIndex end = find_end(*history, passes);
  for (const liveness::Block& block : history->blocks) {
    if (block.born >= end) break;
    const bool is_freed = block.freed && block.died < end;
    stream->blocks.push_back({block.born, is_freed ? block.died : model::kStreamEnd, modules.of_scope(block.scope),
                              block.size.count(), block.phase, block.stage, liveness::block_owner(block),
                              block.product});
  }
  stream->modules = modules.take();
  stream->torch_version = torch_version;
  stream->passes = std::move(passes.whole);
  find_module_calls(modules.readings(), *stream);
  stream->emptied = find_emptied(*history);
  for (const liveness::Level& level : history->levels) {
    stream->peak_reserved = std::max(stream->peak_reserved, level.reserved);
  }
  return stream;
}

}  // namespace vramfit::facts
