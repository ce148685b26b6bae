// Memory that grows in loops that take no step of an optimizer and run no evaluation: `outs.append(torch.randn(...))`.
// What modules make in their forward passes is left out: equal layers, one after another, look the same in one pass.
// Nobody counts their passes, but a line that allocates comes round with them:
//
//   births    a  b  a  b  a  b  a  b          of lines a and b: four passes
//   of b         1     2     3     4          alive when b comes round again: more each time, so the loop keeps them
//   of a      1     1     1     1             a variable that the next pass overwrites
//
//   births    a a a a a a  c c c c c c ...    a came round, and then others did for long: what a loop made once, and
//                                             others use, is no growth
#ifndef VRAMFIT_LIVENESS_PASSES_H
#define VRAMFIT_LIVENESS_PASSES_H

#include <span>
#include <vector>

#include "liveness/lifetimes.h"
#include "model/runtime_evidence.h"

namespace vramfit::liveness {

// One entry for each process without any step that has such a loop: its `unit` is "pass", and `steps` and the like
// count passes. `holders` stay empty.
std::vector<model::Growth> find_growth_of_passes(const CardHistory& history,
                                                 std::span<const model::Recording> recordings);

// The most passes that one line made, of those that come round until a process without any step ends.
std::int64_t count_judged_passes(const CardHistory& history, std::span<const model::Recording> recordings);

}  // namespace vramfit::liveness

#endif
