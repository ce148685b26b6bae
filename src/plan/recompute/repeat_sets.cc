#include "plan/recompute/repeat_sets.h"

#include <algorithm>
#include <functional>

#include "devices/time_model.h"
#include "plan/recompute/solver.h"

namespace vramfit::plan {
namespace {

constexpr int kBudgetsBetween = 8;
// A set of the scale that frees less than this share of the step is not worth a run of its own.
constexpr double kWorthARun = 0.03;
// checkpoint() saves and restores random state and packs what is saved: some twenty calls from Python.
constexpr double kSecondsPerRepeat = 20 * devices::kSecondsPerLaunch;
constexpr double kForwardTouches = 2;  // a tensor is written once and read by the next operator

struct RepeatSet {
  std::vector<std::size_t> modules;
  double cost = 0;
  Bytes peak;
};

double all_macs(const model::StepModules& step) {
  double sum = 0;
  for (const model::StepModule& module : step.modules) sum += module.parent < 0 ? module.macs : 0;
  return sum;
}

void add_set(const model::StepModules& step, const std::vector<double>& costs, Bytes budget,
             std::vector<RepeatSet>& sets) {
  auto answer = find_repeats(step, costs, budget);
  if (!answer.repeats || answer.repeats->modules.empty()) return;
  const Bytes peak = peak_with(step, answer.repeats->modules);
  sets.push_back({std::move(answer.repeats->modules), answer.repeats->cost, peak});
}

// Of those that free no more than another one, the cheapest.
void drop_the_beaten(std::vector<RepeatSet>& sets) {
  std::ranges::sort(sets, {}, [](const RepeatSet& set) { return std::pair(set.peak, set.cost); });
  double cheapest = 0;
  bool is_first = true;
  std::erase_if(sets, [&](const RepeatSet& set) {
    const bool is_beaten = !is_first && set.cost >= cheapest;
    if (!is_beaten) cheapest = set.cost;
    is_first = false;
    return is_beaten;
  });
  std::ranges::reverse(sets);
}

}  // namespace

std::vector<double> repeat_seconds(const model::Job& job, const model::Card& card) {
  std::vector<double> costs;
  if (!job.step_modules) return costs;
  const double macs = all_macs(*job.step_modules);
  const double forward_share = macs > 0 ? 1 / (3 * macs) : 0;  // of a step's multiply-adds a third is forward's
  for (const model::StepModule& module : job.step_modules->modules) {
    model::StepWork work;
    const double share = std::max(0.0, module.macs) * forward_share;
    for (std::size_t i = 0; i < work.macs.size(); ++i) work.macs[i] = job.work.macs[i] * share;
    work.matmul_bytes = job.work.matmul_bytes * share;
    work.other_bytes = module.bytes * kForwardTouches;
    costs.push_back(devices::estimate_step_seconds(card, work) + kSecondsPerRepeat);
  }
  return costs;
}

std::vector<std::vector<std::string>> find_repeat_sets(const model::Job& job, const model::Card& card,
                                                       const std::vector<Bytes>& budgets) {
  if (!job.step_modules) return {};
  const model::StepModules& step = *job.step_modules;
  const std::vector<double> costs = repeat_seconds(job, card);
  std::vector<RepeatSet> sets;
  const Bytes least = find_least_peak(step, costs);
  const Bytes range = step.peak - least;
  const auto worth = static_cast<std::int64_t>(static_cast<double>(step.peak.count()) * kWorthARun);
  if (range.count() >= worth) {
    for (int i = 0; i < kBudgetsBetween; ++i) {
      add_set(step, costs, least + Bytes(range.count() * i / kBudgetsBetween), sets);
    }
    std::erase_if(sets, [&](const RepeatSet& set) { return (step.peak - set.peak).count() < worth; });
  }
  for (const Bytes budget : budgets) add_set(step, costs, budget, sets);
  drop_the_beaten(sets);
  std::vector<std::vector<std::string>> names;
  for (const RepeatSet& set : sets) {
    std::vector<std::string>& of_set = names.emplace_back();
    for (const std::size_t index : set.modules) of_set.push_back(step.modules[index].name);
  }
  return names;
}

}  // namespace vramfit::plan
