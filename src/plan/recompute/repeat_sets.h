// Sets of modules worth running again in backward: for the card's budget, and for others that combinations may need.
#ifndef VRAMFIT_PLAN_RECOMPUTE_REPEAT_SETS_H
#define VRAMFIT_PLAN_RECOMPUTE_REPEAT_SETS_H

#include <string>
#include <vector>

#include "model/card.h"
#include "plan/recompute/step_peak.h"

namespace vramfit::plan {

// Whether what products of matrices and convolutions gave is kept when a module is run again (selective checkpointing).
enum class Kept { kNothing, kProducts };

struct RepeatSet {
  std::vector<std::string> modules;
  Kept kept = Kept::kNothing;
  bool operator==(const RepeatSet&) const = default;
};

// For each module, the seconds that its forward takes once more on that card.
std::vector<double> repeat_seconds(const model::Job& job, const model::Card& card, Kept kept = Kept::kNothing);

// The modules without those that bring nothing: taken out one by one, the dearest first, while the step stays within
// the budget, or within what the whole set comes to. Each of those that are left is needed.
std::vector<std::size_t> without_idle(const model::StepModules& step, const std::vector<double>& costs,
                                      std::vector<std::size_t> modules, Bytes budget);

// Those sets first that free least; each frees more than the one before it and costs more. Each is the cheapest for its
// budget: `budgets`, as bytes allocated at the most, and a few more between nothing and all there is.
std::vector<RepeatSet> find_repeat_sets(const model::Job& job, const model::Card& card,
                                        const std::vector<Bytes>& budgets);

}  // namespace vramfit::plan

#endif
