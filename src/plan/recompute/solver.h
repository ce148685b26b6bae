// The cheapest set of modules to run again in backward so that a step stays within a number of bytes.
//
// A walk over the modules in the order in which they ran carries all answers so far that are not beaten by another one
// in both bytes freed and cost. At each module it is left as it is, run again, or its insides are looked at instead;
// where running it again needs too much at once, modules inside it are run again as well, within that (nested).
//
//   after a          after a, b                  beaten: frees less, costs more
//   (0, 0)           (0, 0) (30 MiB, 2 ms)
//   (50 MiB, 1 ms)   (50 MiB, 1 ms) (80 MiB, 3 ms)      (30 MiB, 2 ms) is beaten by (50 MiB, 1 ms)
//
// An answer that can't lead to one as cheap as the best known (bound.h) is dropped. So the rest is exact; where more
// are left than `most_answers`, those whose bound is worst go, and the least of their bounds tells how far the result
// can be from the best. Modules of the same size and cost lead to the same answers: they are counted, not combined.
#ifndef VRAMFIT_PLAN_RECOMPUTE_SOLVER_H
#define VRAMFIT_PLAN_RECOMPUTE_SOLVER_H

#include <optional>
#include <vector>

#include "plan/recompute/step_peak.h"

namespace vramfit::plan {

struct RepeatLimits {
  std::size_t most_answers = 4000;  // carried from one module to the next
};

struct Repeats {
  std::vector<std::size_t> modules;  // of StepModules::modules, ascending
  double cost = 0;                   // the sum over these
  double bound = 0;                  // no set costs less; equal to `cost`: it is the best
  double gap() const { return cost > 0 ? (cost - bound) / cost : 0; }
  bool operator==(const Repeats&) const = default;
};

// `costs`: by module, above 0. None when no set was found; `is_proven` then tells whether there is none.
struct RepeatAnswer {
  std::optional<Repeats> repeats;
  bool is_proven = true;
};
RepeatAnswer find_repeats(const model::StepModules& step, const std::vector<double>& costs, Bytes budget,
                          const RepeatLimits& limits = {});

// The least that a set was found to come down to, to a thousandth.
Bytes find_least_peak(const model::StepModules& step, const std::vector<double>& costs);

}  // namespace vramfit::plan

#endif
