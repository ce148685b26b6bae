// What a training step needs with some modules run again in backward.
//
//   allocated, as recorded     a | a b | a b c | a b c | a b | a         forward, then backward
//   b is run again             a | a b | a   c | a   c | a B | a         B: b's forward once more, then its backward
//
// Until backward reaches it, a module that is run again takes away what it frees from every moment after its forward.
// One inside another that is run again too (nested) does so within the second run of the outer one.
#ifndef VRAMFIT_PLAN_RECOMPUTE_STEP_PEAK_H
#define VRAMFIT_PLAN_RECOMPUTE_STEP_PEAK_H

#include <span>
#include <string>
#include <vector>

#include "model/job.h"

namespace vramfit::plan {

using base::Bytes;

// Indices of the modules directly inside each module; those inside none come last, at [modules.size()].
std::vector<std::vector<std::size_t>> find_children(const model::StepModules& step);

// Whether a module's memory is told apart by the modules inside it.
bool is_split(const model::StepModules& step, std::span<const std::size_t> children);

// Bytes allocated on the card at the most, in forward and backward. `chosen`: indices of step.modules.
Bytes peak_with(const model::StepModules& step, std::span<const std::size_t> chosen);

// The step as it is to modules that keep the results of their products when they are run again: each frees so much
// less.
model::StepModules with_products_kept(model::StepModules step);

// The named modules that the step has: fewer than were asked for when it lacks some.
std::vector<std::size_t> find_modules(const model::StepModules& step, std::span<const std::string> names);

}  // namespace vramfit::plan

#endif
