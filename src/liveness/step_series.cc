#include "liveness/step_series.h"

#include <algorithm>
#include <map>
#include <utility>

#include "liveness/owners.h"
#include "liveness/rise.h"
#include "liveness/step_memory.h"
#include "model/number_text.h"
#include "model/recording.h"

namespace vramfit::liveness {

namespace {

// kNever: it takes none.
EventIndex find_first_step(const CardHistory& history, int process) {
  const auto first = std::ranges::find(history.step_ends, process, &StepEnd::process);
  return first == history.step_ends.end() ? kNever : first->at;
}

// Whether most of what lived when a step began its end is gone at the end of the next one: a step that adds up the
// losses of many calls, as truncated backpropagation through time does, needs that much, and keeps none of it.
bool is_given_back(const CardHistory& history, int process, EventIndex last_call) {
  std::vector<EventIndex> ends;
  for (const StepEnd& end : history.step_ends) {
    if (end.process == process && end.at > last_call) ends.push_back(end.at);
  }
  if (ends.size() < 2) return false;
  Bytes lived, stayed;
  for (const Block& block : history.blocks) {
    const bool is_judged = block.process == process && block.lives_at(last_call) && !is_meant_to_stay(block);
    if (!is_judged) continue;
    lived += block.size;
    if (block.lives_at(ends[1])) stayed += block.size;
  }
  return 2 * stayed.count() < lived.count();
}

}  // namespace

std::vector<StepSeries> find_step_series(const CardHistory& history) {
  std::vector<StepSeries> all;
  std::map<int, std::size_t> training;    // by process
  std::map<int, StepEnd> last;            // by process
  std::map<int, std::size_t> evaluating;  // by process: the series its last step was in
  for (const StepEnd& end : history.step_ends) {
    const auto before = last.find(end.process);
    const EventIndex begin = before == last.end() ? 0 : before->second.at;
    if (end.phase == VF_PHASE_TRAIN) {
      const auto [known, fresh] = training.emplace(end.process, all.size());
      if (fresh) all.push_back({end.process, end.phase, begin, {}, false});
      all[known->second].ends.push_back(end);
    } else if (model::is_evaluation(end.phase)) {
      const bool goes_on = before != last.end() && before->second.phase == end.phase;
      if (!goes_on) {
        evaluating[end.process] = all.size();
        all.push_back({end.process, end.phase, begin, {}, false});
      }
      all[evaluating[end.process]].ends.push_back(end);
    }
    last[end.process] = end;
  }
  return all;
}

std::optional<StepSeries> series_of_calls(const CardHistory& history, int process, const model::Recording& recording) {
  if (recording.notes.model_calls.empty()) return std::nullopt;
  const EventIndex first_step = find_first_step(history, process);
  const auto& calls = recording.notes.model_calls.back();
  StepSeries series{process, VF_PHASE_LOAD, 0, {}, true};
  for (const std::int64_t begun_ns : calls.begun_ns) {
    const EventIndex at = event_at(history, begun_ns);
    if (at == kNever || (!series.ends.empty() && series.ends.back().at >= at)) continue;
    if (first_step != kNever && (at >= first_step || history.levels[at].phase != VF_PHASE_TRAIN)) continue;
    const auto number = static_cast<std::int64_t>(series.ends.size()) * calls.stride;
    series.ends.push_back({at, series.phase, process, number});
  }
  if (series.ends.size() <= kFewestLevels) return std::nullopt;
  if (first_step != kNever && is_given_back(history, process, series.ends.back().at)) return std::nullopt;
  series.begin = series.ends.front().at;
  series.phase = history.levels[series.ends.back().at].phase;
  series.ends.erase(series.ends.begin());
  return series;
}

void leave_out_cut_steps(const model::Recording& recording, StepSeries& series) {
  for (const auto& run_on : recording.notes.run_on) {
    const std::int64_t in_full = run_on.steps_in_full.value_or(-1);
    if (in_full < static_cast<std::int64_t>(kFewestLevels)) continue;
    std::erase_if(series.ends, [&](const StepEnd& end) { return end.number > in_full; });
  }
}

bool is_in_full(const model::Recording& recording, const StepEnd& end) {
  return std::ranges::all_of(recording.notes.run_on, [&](const auto& run_on) {
    return !run_on.steps_in_full || end.number <= *run_on.steps_in_full;
  });
}

bool serves(const StepSeries& series, const std::vector<StepSeries>& all) {
  return model::is_evaluation(series.phase) && series.ends.size() >= kFewestLevels &&
         std::ranges::none_of(all, [&](const StepSeries& other) {
           return other.process == series.process && other.phase == VF_PHASE_TRAIN;
         });
}

std::size_t step_of(const std::vector<StepEnd>& ends, EventIndex at) {
  const auto found = std::lower_bound(ends.begin(), ends.end(), at,
                                      [](const StepEnd& end, EventIndex event) { return end.at < event; });
  return static_cast<std::size_t>(found - ends.begin());
}

bool is_meant_to_stay(const Block& block) { return is_model_state(block) || block.owner == VF_OWNER_WORKSPACE; }

bool is_held(const Block& block, const StepSeries& series) {
  const bool is_handed_on = series.of_calls && block.owner == VF_OWNER_CACHE;
  return !block.collected && !is_handed_on;
}

}  // namespace vramfit::liveness
