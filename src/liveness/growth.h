// Memory that grows step by step: lines of the script whose blocks stay, generation after generation.
//
//   block     step 1   2   3   4   5   6
//   of 2            [...................     the same line, born one step after another, alive together: growth
//   of 3                [...............
//   of 4                    [...........
//
//   of 2            [.......]               each dies two steps after its birth: a window that slides, no growth
//   of 3                [.......]
//   of 4                    [.......]
#ifndef VRAMFIT_LIVENESS_GROWTH_H
#define VRAMFIT_LIVENESS_GROWTH_H

#include <span>
#include <vector>

#include "liveness/lifetimes.h"
#include "model/runtime_evidence.h"

namespace vramfit::liveness {

// One entry for each process and phase with growing lines; of several evaluations the one that grew most. Weights,
// buffers, gradients and optimizer state never count. `holders` and `graphs` stay empty: a recording has no names.
std::vector<model::Growth> find_growth(const CardHistory& history, std::span<const model::Recording> recordings);

inline constexpr int kFewestGenerations = 3;

}  // namespace vramfit::liveness

#endif
