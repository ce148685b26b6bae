#include "plan/recompute/repeat_sets.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "devices/time_model.h"
#include "plan/recompute/played_peak.h"
#include "plan/recompute/solver.h"

namespace vramfit::plan {
namespace {

constexpr int kBudgetsBetween = 8;
// A set of the scale that frees less than this share of the step is not worth a run of its own.
constexpr double kWorthARun = 0.03;
// checkpoint() saves and restores random state and packs what is saved: some twenty calls from Python.
constexpr double kSecondsPerRepeat = 20 * devices::kSecondsPerLaunch;
// Each operator of such a module, in both of its runs, goes through a mode in Python that looks at it: some twenty
// microseconds, which is four small launches.
constexpr double kLaunchesOfWatching = 2 * 4;
constexpr double kForwardTouches = 2;  // a tensor is written once and read by the next operator

struct PricedSet {
  RepeatSet set;
  double cost = 0;
  Bytes peak;
};

double all_macs(const model::StepModules& step) {
  double sum = 0;
  for (const model::StepModule& module : step.modules) sum += module.parent < 0 ? module.macs : 0;
  return sum;
}

// What is run again within another module's second run has no results of products left from the first.
bool is_nested(const model::StepModules& step, const std::vector<std::size_t>& chosen) {
  return std::ranges::any_of(chosen, [&](std::size_t index) {
    int outer = step.modules[index].parent;
    while (outer >= 0 && !std::ranges::binary_search(chosen, static_cast<std::size_t>(outer))) {
      outer = step.modules[static_cast<std::size_t>(outer)].parent;
    }
    return outer >= 0;
  });
}

// The cheapest sets for budgets, of modules that keep the same.
class SetFinder {
 public:
  SetFinder(const model::Job& job, const model::Card& card, Kept kept)
      : step_(kept == Kept::kProducts ? with_products_kept(*job.step_modules) : *job.step_modules),
        costs_(repeat_seconds(job, card, kept)),
        kept_(kept) {}

  std::vector<PricedSet> find(const std::vector<Bytes>& budgets) && {
    const Bytes least = find_least_peak(step_, costs_);
    const Bytes range = step_.peak - least;
    const auto worth = static_cast<std::int64_t>(static_cast<double>(step_.peak.count()) * kWorthARun);
    if (range.count() >= worth) {
      for (int i = 0; i < kBudgetsBetween; ++i) add(least + Bytes(range.count() * i / kBudgetsBetween));
      std::erase_if(sets_, [&](const PricedSet& each) { return (step_.peak - each.peak).count() < worth; });
    }
    for (const Bytes budget : budgets) add(budget);
    return std::move(sets_);
  }

 private:
  void add(Bytes budget) {
    const auto answer = find_repeats(step_, costs_, budget);
    if (!answer.repeats) return;
    const std::vector<std::size_t> chosen = without_idle(step_, costs_, answer.repeats->modules, budget);
    if (chosen.empty() || (kept_ == Kept::kProducts && is_nested(step_, chosen))) return;
    double cost = 0;
    for (const std::size_t index : chosen) cost += costs_[index];
    PricedSet found{{{}, kept_}, cost, peak_with(step_, chosen)};
    for (const std::size_t index : chosen) found.set.modules.push_back(step_.modules[index].name);
    sets_.push_back(std::move(found));
  }

  model::StepModules step_;
  std::vector<double> costs_;
  Kept kept_;
  std::vector<PricedSet> sets_;
};

// Drops each set that frees no more than a cheaper one.
void drop_the_beaten(std::vector<PricedSet>& sets) {
  std::ranges::sort(sets, {}, [](const PricedSet& each) { return std::pair(each.peak, each.cost); });
  double cheapest = 0;
  bool is_first = true;
  std::erase_if(sets, [&](const PricedSet& each) {
    const bool is_beaten = !is_first && each.cost >= cheapest;
    if (!is_beaten) cheapest = each.cost;
    is_first = false;
    return is_beaten;
  });
  std::ranges::reverse(sets);
}

}  // namespace

std::vector<std::size_t> without_idle(const model::StepModules& step, const std::vector<double>& costs,
                                      std::vector<std::size_t> modules, Bytes budget) {
  std::vector<std::size_t> dearest = modules;
  std::ranges::stable_sort(dearest, std::greater<>(), [&](std::size_t index) { return costs[index]; });
  for (const std::size_t index : dearest) {
    std::vector<std::size_t> others = modules;
    std::erase(others, index);
    if (peak_with(step, others) <= std::max(budget, peak_with(step, modules))) modules = std::move(others);
  }
  return modules;
}

std::vector<double> repeat_seconds(const model::Job& job, const model::Card& card, Kept kept) {
  std::vector<double> costs;
  if (!job.step_modules) return costs;
  const double macs = all_macs(*job.step_modules);
  const double forward_share = macs > 0 ? 1 / (3 * macs) : 0;  // of a step's multiply-adds a third is forward's
  for (const model::StepModule& module : job.step_modules->modules) {
    model::StepWork work;
    if (kept == Kept::kNothing) {
      const double share = std::max(0.0, module.macs) * forward_share;
      for (std::size_t i = 0; i < work.macs.size(); ++i) work.macs[i] = job.work.macs[i] * share;
      work.matmul_bytes = job.work.matmul_bytes * share;
      work.other_bytes = module.bytes * kForwardTouches;
    } else {  // they are read, not written
      work.other_bytes = module.bytes * kForwardTouches - static_cast<double>(module.products.count());
      work.launches = kLaunchesOfWatching * module.operators;
    }
    costs.push_back(devices::estimate_step_seconds(card, work) + kSecondsPerRepeat);
  }
  return costs;
}

std::vector<RepeatSet> find_repeat_sets(const model::Job& job, const model::Card& card,
                                        const std::vector<Bytes>& budgets) {
  if (!job.step_modules) return {};
  std::vector<PricedSet> sets;
  for (const Kept kept : {Kept::kNothing, Kept::kProducts}) {
    std::ranges::move(SetFinder(job, card, kept).find(budgets), std::back_inserter(sets));
  }
  drop_the_beaten(sets);
  const PlayedPeak played(job);
  std::vector<RepeatSet> found;
  for (PricedSet& each : sets) {
    RepeatSet set = without_idle_as_played(played, std::move(each.set));
    if (!set.modules.empty() && std::ranges::find(found, set) == found.end()) found.push_back(std::move(set));
  }
  return found;
}

}  // namespace vramfit::plan
