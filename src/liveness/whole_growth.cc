#include "liveness/whole_growth.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "liveness/growing_lines.h"
#include "liveness/rise.h"
#include "liveness/step_memory.h"
#include "model/recording.h"

namespace vramfit::liveness {

using model::Growth;

namespace {

std::optional<Rise> rise_of_peaks(const CardHistory& history, const StepSeries& series) {
  std::vector<Bytes> peaks;
  for (const StepPeak& peak : find_step_peaks(history)) {
    const bool ended = peak.number <= series.ends.back().number;
    if (peak.process == series.process && peak.phase == series.phase && ended) peaks.push_back(peak.allocated);
  }
  return find_rise_of_peaks(peaks);
}

struct StateCount {
  std::int64_t weights = 0, gradients = 0, optimizer = 0;  // blocks
};

StateCount count_state(const CardHistory& history, int process, EventIndex at) {
  StateCount count;
  for (const Block& block : history.blocks) {
    if (block.process != process || !block.lives_at(at)) continue;
    count.weights += block.owner == VF_OWNER_WEIGHT;
    count.gradients += block.owner == VF_OWNER_GRADIENT;
    count.optimizer += block.owner == VF_OWNER_OPTIMIZER;
  }
  return count;
}

bool is_of_training(const Block& block) {
  return block.owner == VF_OWNER_GRADIENT || block.owner == VF_OWNER_OPTIMIZER;
}

// Weights that are trained only from some step on get their gradients and their optimizer's state then: it ends when
// all have them. A gradient each, and of no optimizer more than three states; old optimizers that are kept have more.
bool comes_with_more_trained(const CardHistory& history, const StepSeries& series) {
  constexpr std::int64_t kMostStates = 3;
  const std::size_t warm = std::min<std::size_t>(series.ends.size() - 1, 2);
  const StateCount before = count_state(history, series.process, series.ends[warm].at);
  const StateCount after = count_state(history, series.process, series.ends.back().at);
  return after.weights == before.weights && after.gradients <= after.weights &&
         after.optimizer <= kMostStates * after.weights &&
         (after.gradients > before.gradients || after.optimizer > before.optimizer);
}

// What is held at the ends of steps.
std::vector<Bytes> levels_at_ends(const CardHistory& history, const StepSeries& series, bool more_trained) {
  std::vector<Bytes> levels;
  for (const StepEnd& end : series.ends) levels.push_back(history.levels[end.at].allocated);
  for (const Block& block : history.blocks) {
    const bool is_bounded = more_trained && block.process == series.process && is_of_training(block);
    if (is_held(block, series) && !is_bounded) continue;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      if (block.lives_at(series.ends[i].at)) levels[i] -= block.size;
    }
  }
  return levels;
}

bool has_cycles(const CardHistory& history, const StepSeries& series) {
  return std::ranges::any_of(history.blocks,
                             [&](const Block& block) { return block.collected && block.process == series.process; });
}

// Steps whose levels hold no cycle that only waits: since the collector was asked last they may have piled up again.
std::size_t count_free_of_cycles(const CardHistory& history, const StepSeries& series,
                                 const model::Recording& recording) {
  if (!has_cycles(history, series)) return series.ends.size();
  std::int64_t asked_ns = 0;
  for (const auto& collected : recording.notes.collected) {
    if (collected.is_on) asked_ns = std::max(asked_ns, collected.ended_ns - history.started_at_ns);
  }
  const auto is_before = [&](const StepEnd& end) { return history.levels[end.at].at_ns <= asked_ns; };
  return static_cast<std::size_t>(std::ranges::partition_point(series.ends, is_before) - series.ends.begin());
}

}  // namespace

void judge_whole(const CardHistory& history, const StepSeries& series, const model::Recording& recording,
                 Growth& growth) {
  const bool more_trained = comes_with_more_trained(history, series);
  const std::vector<Bytes> levels = levels_at_ends(history, series, more_trained);
  auto rise = find_rise(levels);
  // Inputs that get longer leave their last one behind too, and what is joined on to itself is there twice while it is:
  // then what a step needs, which is what runs out, rises by far more than what stays.
  // Cycles wait longer and longer, as the collector is asked less and less often: with them the most that a step needs
  // tells nothing. Nor where backward goes through more and more layers.
  const auto need = has_cycles(history, series) || more_trained ? std::nullopt : rise_of_peaks(history, series);
  if (!rise && !series.of_calls) {
    const std::size_t sure = count_free_of_cycles(history, series, recording);
    if (const auto late = find_late_rise(std::span(levels).first(sure))) {
      rise = late->rise;
      growth.begins_at = series.ends[late->begins].number;
    }
  }
  growth.of_peak = need && (!rise || 2 * need->per_step.count() > 3 * rise->per_step.count());
  if (growth.of_peak) rise = need;
  if (growth.of_peak) growth.begins_at.reset();
  if (!rise || growth.of_peak) {
    growth.lines.clear();
    if (rise) find_lines_that_get_longer(history, series, recording, growth);
  } else if (growth.lines.empty()) {
    find_lines_that_stay(history, series, recording, growth);
    if (growth.lines.empty()) find_lines_that_get_longer(history, series, recording, growth);
  }
  growth.per_step = rise ? rise->per_step : Bytes(0);
  growth.every = rise ? rise->every : 1;
  growth.steps = rise ? rise->steps : 0;
  growth.faster = rise ? rise->faster : 0;
}

bool judge_calls(const CardHistory& history, const StepSeries& calls, const model::Recording& recording,
                 Growth& growth) {
  judge_whole(history, calls, recording, growth);
  growth.unit = "pass";
  return growth.steps > 0 && !growth.of_peak;
}

}  // namespace vramfit::liveness
