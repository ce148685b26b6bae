#include "app/fit/other_ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <utility>

#include "base/interrupt.h"
#include "plan/advice.h"
#include "plan/floor_proof.h"
#include "plan/hardware.h"
#include "plan/several_cards.h"

namespace vramfit::app {
namespace {

using model::FitVerdict;

// Runs the job as it is on the cheapest card that should hold it, and if it does not fit there, on the next.
void prove_hardware(FitContext& fit) {
  // Other cards are an extra: they are run only if the user said how long the search may take.
  while (fit.request.budget_is_firm && !fit.result.hardware.empty() && !base::was_interrupted()) {
    model::HardwareRow& row = fit.result.hardware.front();
    if (row.count > 1 || kWholeRunFactor * fit.result.free_run->wall_seconds > fit.left()) return;
    fit.progress.update(fmt::format("running the job as it is on {}", row.name));
    job::RunRequest request = fit.quiet_request();
    request.cards = {{*std::ranges::find(fit.request.catalogue, row.key, &model::Card::key), std::nullopt}};
    const auto outcome = fit.runner.run(request, base::silent_progress());
    if (!outcome) return;
    ++fit.result.runs;
    row.proven = outcome->result.verdict == model::Verdict::kFits;
    if (row.proven || outcome->result.verdict == model::Verdict::kFailed) return;
    fit.result.hardware.erase(fit.result.hardware.begin());
  }
}

}  // namespace

void look_at_hardware(FitContext& fit, const model::Job& job) {
  if (fit.request.catalogue.empty() || fit.result.cards > 1 || fit.result.verdict == FitVerdict::kInterrupted) return;
  const int cuda_major = std::atoi(fit.result.free_run->cuda.c_str());
  const plan::Forecast as_is = plan::start_forecast(job);
  // The floor tells why the network does not fit, also where the best plan trains another one.
  if (fit.result.plans.empty() || fit.result.plans.front().effect == name(plan::Effect::kNetwork)) {
    fit.result.floor = plan::prove_floor(job, fit.target, fit.request.catalogue);
  }
  fit.result.hardware =
      plan::find_hardware(job, fit.target, plan::demand_of(job, as_is), fit.request.catalogue, cuda_major);
  prove_hardware(fit);
  if (fit.result.plans.empty()) return;
  const double as_it_is = fit.result.hardware.empty() ? 1e9 : fit.result.hardware.front().price;
  auto with_plan = plan::find_hardware(job, fit.target, plan::demand_of(job, fit.result.plans.front()),
                                       fit.request.catalogue, cuda_major);
  std::erase_if(with_plan, [&](const model::HardwareRow& row) { return row.price >= as_it_is; });
  fit.result.hardware.insert(fit.result.hardware.end(), with_plan.begin(), with_plan.end());
}

void advise(FitContext& fit, const model::Job& job) {
  if (fit.result.verdict == FitVerdict::kInterrupted) return;
  const bool is_spared = !fit.result.plans.empty() &&
                         fit.result.plans.front().effect != name(plan::Effect::kOptimizer) &&
                         fit.result.plans.front().effect != name(plan::Effect::kInput) &&
                         fit.result.plans.front().effect != name(plan::Effect::kNetwork);
  if (is_spared) {
    fit.result.advice = job.advice;
    return;
  }
  std::shared_ptr<const model::ModuleTable> modules;
  if (kWholeRunFactor * fit.result.free_run->wall_seconds <= fit.left() && !base::was_interrupted()) {
    fit.progress.update("looking at what each part of the network holds");
    job::RunRequest request = fit.plentiful_request();
    request.modules = true;
    const auto outcome = fit.runner.run(request, base::silent_progress());
    ++fit.result.runs;
    if (outcome) modules = outcome->result.modules;
  }
  fit.result.advice = plan::find_advice(job, fit.target, modules.get());
  if (fit.result.cards > 1) return;
  std::ranges::move(plan::advise_several_cards(job, fit.target), std::back_inserter(fit.result.advice));
}

}  // namespace vramfit::app
