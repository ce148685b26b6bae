// A budget for what torch.compile saves for backward (activation_memory_budget): its partitioner chooses what is
// cheapest to work out again in backward, until what is left is at most that share of what it would save
// (python/vramfit/apply/memory_budget.py).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "model/number_text.h"
#include "plan/measured_shares.h"
#include "plan/techniques/parts_of_batch.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

constexpr std::array kBudgets = {0.5, 0.25};
constexpr double kWhole = 1;               // the setting where nobody sets it
constexpr double kUnmeasuredBudget = 0.3;  // uncertainty: which operators are cheap, the partitioner alone knows

class MemoryBudget final : public Technique {
 public:
  std::string_view id() const override { return "memory_budget"; }
  ActsIn acts_in() const override { return ActsIn::kTraining; }

  Applicability applies_to(const model::Job& job, const Target&) const override {
    if (!job.compiler) return not_possible("no training was seen that torch.compile compiles");
    if (!job.compiler->memory_budget) {
      return not_possible("torch.compile of this release of PyTorch has no activation_memory_budget");
    }
    if (*job.compiler->memory_budget < kWhole) {
      return in_force(fmt::format("the script has torch.compile save at most {:g} of what it would already",
                                  *job.compiler->memory_budget));
    }
    return applicable();
  }

  std::vector<model::Change> options(const model::Job&, const Target&) const override {
    std::vector<model::Change> changes;
    for (const double budget : kBudgets) changes.push_back({std::string(id()), {{"budget", budget}}});
    return changes;
  }

  // What is cheap to work out again differs from network to network, and a backend may divide nothing: only runs tell.
  std::vector<model::Change> find_all_measurable(const model::Job& job, const Target& target) const override {
    return options(job, target);
  }

  void predict(const model::Job& job, const Target&, const model::Change& change, Forecast& forecast) const override {
    const double budget = model::find_number(change, "budget").value_or(kWhole);
    const auto measured = job.measured.find(measured_key(change));
    for (model::StagePeak& moment : forecast.stage_peaks) {
      const model::StagePeak* before = find_same_stage(job.stage_peaks, moment);
      if (before == nullptr || !holds_graph(moment)) continue;
      const model::StagePeak* after =
          measured == job.measured.end() ? nullptr : find_same_stage(measured->second, moment);
      if (after == nullptr) {
        moment.holdings.activations = scaled(moment.holdings.activations, budget);
        continue;
      }
      for (auto field : {&model::Holdings::activations, &model::Holdings::temporaries, &model::Holdings::workspaces}) {
        moment.holdings.*field =
            scaled(moment.holdings.*field, share_of(after->holdings.*field, before->holdings.*field));
      }
    }
    if (measured != job.measured.end()) forecast.measured_with = measured->first;
    if (const auto work = job.measured_work.find(measured_key(change)); work != job.measured_work.end()) {
      scale_work_to(work->second, job.work, forecast.work);
    } else {
      repeat_forward(kWhole - budget, kWhole - budget, forecast);  // what is not saved, as if all operators were alike
    }
    forecast.uncertainty = std::max(forecast.uncertainty, measured == job.measured.end() ? kUnmeasuredBudget : 0.04);
    worsen(forecast, Effect::kRounding,
           "torch.compile works out in backward again what it does not save; what it fuses there may round otherwise");
  }

  std::string describe(const model::Change& change) const override {
    return fmt::format("torch.compile at {:g} of its activations",
                       model::find_number(change, "budget").value_or(kWhole));
  }
};

}  // namespace

const Technique& memory_budget() {
  static const MemoryBudget kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
