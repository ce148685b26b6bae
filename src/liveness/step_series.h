// Steps of one process in a row, at whose ends it is judged whether memory grows; calls of a model stand for them where
// a process takes none.
#ifndef VRAMFIT_LIVENESS_STEP_SERIES_H
#define VRAMFIT_LIVENESS_STEP_SERIES_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "liveness/lifetimes.h"

namespace vramfit::liveness {

// Steps of one process and phase in a row: training as a whole, or one evaluation.
struct StepSeries {
  int process = 0;
  std::uint8_t phase = 0;
  EventIndex begin = 0;  // where its first step began
  std::vector<StepEnd> ends;
  bool of_calls = false;  // of a model, by a process that never trains
};

std::vector<StepSeries> find_step_series(const CardHistory& history);

// The moments between two calls of a model, as though they were ends of steps. Where steps come, what they leave is
// theirs to tell: the calls of training before the first are one step that adds up and up.
std::optional<StepSeries> series_of_calls(const CardHistory& history, int process, const model::Recording& recording);

// Past a budget passes get one batch each: what happens once an epoch happens at every step there, and tells no rhythm.
void leave_out_cut_steps(const model::Recording& recording, StepSeries& series);

// Whether the step was taken before anything was left out.
bool is_in_full(const model::Recording& recording, const StepEnd& end);

// A process that calls models and never trains: requests that a server answers, in whatever rhythm they leave
// something.
bool serves(const StepSeries& series, const std::vector<StepSeries>& all);

// The step in which an event lies, from 0; `ends.size()`: after the last.
std::size_t step_of(const std::vector<StepEnd>& ends, EventIndex at);

// What is a model's, an optimizer's or a library's own: it stays, and that is no growth.
bool is_meant_to_stay(const Block& block);

// What the collector freed when it was asked, nothing held: it is no growth, however many steps it waited. Nor are keys
// and values that calls of a model hand on: they end with the text.
bool is_held(const Block& block, const StepSeries& series);

}  // namespace vramfit::liveness

#endif
