// Plans that add one technique after another, as published ladders of remedies do.
#ifndef VRAMFIT_APP_TESTING_PLAN_STACKS_H
#define VRAMFIT_APP_TESTING_PLAN_STACKS_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/search/candidate.h"

namespace vramfit::app {

struct Rung {
  std::string name;  // "micro_batch=1 x 4,checkpoint": what was asked for, from the stack's beginning on
  std::vector<std::uint8_t> levels;  // of each axis; empty: nothing of the kind is there for this job
};

// `stacks`: "TECHNIQUE[=OPTION],...;TECHNIQUE,...": of each, the plan of its first technique, of its first two, and so
// on. Each technique has the option that saves most, or the one in whose words OPTION stands. What several stacks begin
// with is a rung once. A stack ends where the job has nothing of what it asks for.
std::vector<Rung> find_rungs(std::span<const plan::Axis> axes, std::string_view stacks);

}  // namespace vramfit::app

#endif
