// One forward and backward of training in a card's history: the fullest one that was recorded whole.
//
//   allocated            ____/\___
//               ___/\___/         \____
//              |  forward  | backward |  optimizer
//            begin        turn       end
#ifndef VRAMFIT_FACTS_STEP_WINDOW_H
#define VRAMFIT_FACTS_STEP_WINDOW_H

#include <optional>

#include "liveness/lifetimes.h"

namespace vramfit::facts {

struct StepWindow {
  liveness::EventIndex begin = 0;  // the first event that belongs to forward
  liveness::EventIndex turn = 0;   // the first of backward
  liveness::EventIndex end = 0;    // one past the last of backward
};

// The last forward of the step, where it has several (accumulation). None when no training step ended, or when more
// than one process trained on the card: their memory can't be told apart by time.
std::optional<StepWindow> find_fullest_step(const liveness::CardHistory& history);

// The highest level from `from` up to, not including, `to`; 0 for an empty span.
base::Bytes find_highest(const liveness::CardHistory& history, liveness::EventIndex from, liveness::EventIndex to);

}  // namespace vramfit::facts

#endif
