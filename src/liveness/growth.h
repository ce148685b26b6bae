// Memory that grows: the one judgement that run, fit and doctor share. A training of a dozen steps or more is judged as
// a whole (rise.h): a leak at every fifth step, one at every epoch, inputs that get longer. Which of the script's lines
// it is, and shorter stretches, are told by lines whose blocks stay, generation after generation:
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

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "liveness/lifetimes.h"
#include "model/runtime_evidence.h"

namespace vramfit::liveness {

// One entry for each process and phase that grows; of several evaluations the one that grew most. Weights,
// buffers, gradients and optimizer state never count. `holders` and `graphs` stay empty: a recording has no names.
std::vector<model::Growth> find_growth(const CardHistory& history, std::span<const model::Recording> recordings);

// The same of processes that take no step and call a model again and again: each call is a pass, its `unit`. What the
// calls of one generation hand on, keys and values, is no growth.
std::vector<model::Growth> find_growth_of_calls(const CardHistory& history,
                                                std::span<const model::Recording> recordings);

// The calls that this is judged by, the most of any process.
std::int64_t count_judged_calls(const CardHistory& history, std::span<const model::Recording> recordings);

// The training steps that one process took before anything was left out, the most of any.
std::int64_t count_judged_steps(const CardHistory& history, std::span<const model::Recording> recordings);

inline constexpr int kFewestGenerations = 3;

// Over fewer steps it may be a list that is bounded: no reason for a warning.
inline constexpr std::int64_t kFewestStepsToWarn = 6;

// The step at which a card with this much room above the peak of the run would be full.
std::optional<std::int64_t> find_end(const model::Growth& growth, Bytes room);

// "memory rises by 3.00 MiB every 5 steps of training (train.py:9 in train): the card is full at about step 4,120".
std::string describe_growth(const model::Growth& growth);

}  // namespace vramfit::liveness

#endif
