#include "plan/forecast.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "model/number_text.h"

namespace vramfit::plan {
namespace {

void free_activations(const Forecast& forecast, model::StagePeak& moment) {
  if (!holds_graph(moment)) return;
  // What is offloaded of checkpointed blocks are their inputs: what either frees, the other does not free again.
  const Bytes freed = scaled(std::max(forecast.recomputed, forecast.offloaded), forecast.activation_scale);
  Bytes& activations = moment.holdings.activations;
  activations = std::max(activations - freed, Bytes(0));
}

constexpr double kMatmulsInHalf = 0.95;  // of the multiply-adds under autocast

// The share of what tiles leave that one sample needs: smaller batches do not make it less. Seen on FCN.
constexpr double kOfOneSample = 0.5;

void apply_split_of_samples(const Forecast& forecast, model::StagePeak& moment) {
  const bool is_evaluation = model::is_evaluation(moment.phase);
  if (!forecast.one_sample_at_once || !is_evaluation || forecast.evaluation_batch <= 0) return;
  const double share = forecast.evaluation_batch;
  const double factor = (share * (1 - kOfOneSample) + kOfOneSample) / share;
  moment.holdings.activations = scaled(moment.holdings.activations, factor);
  moment.holdings.temporaries = scaled(moment.holdings.temporaries, factor);
}

}  // namespace

std::string_view name(Effect effect) {
  switch (effect) {
    case Effect::kSame:
      return "same";
    case Effect::kRounding:
      return "rounding";
    case Effect::kPrecision:
      return "precision";
    case Effect::kUpdates:
      return "updates";
    case Effect::kStatistics:
      return "statistics";
    case Effect::kOptimizer:
      return "optimizer";
    case Effect::kInput:
      return "input";
    case Effect::kNetwork:
      return "network";
  }
  return "unknown";
}

Tier tier_of(Effect effect) {
  switch (effect) {
    case Effect::kSame:
      return Tier::kEqual;
    case Effect::kRounding:
      return Tier::kRounding;
    case Effect::kPrecision:
    case Effect::kUpdates:
      return Tier::kPrecision;
    case Effect::kStatistics:
      return Tier::kStatistics;
    case Effect::kOptimizer:
    case Effect::kInput:
    case Effect::kNetwork:
      break;
  }
  return Tier::kAnother;
}

std::optional<Tier> find_tier(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames = {"equal", "rounding", "precision", "statistics", "another"};
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Tier>(found - kNames.begin());
}

Forecast start_forecast(const model::Job& job) {
  Forecast forecast;
  forecast.stage_peaks = job.stage_peaks;
  forecast.work = job.work;
  return forecast;
}

Bytes scaled(Bytes bytes, double factor) { return Bytes(std::llround(static_cast<double>(bytes.count()) * factor)); }

bool holds_graph(const model::StagePeak& moment) {
  return moment.phase == model::phase::kTrain &&
         (moment.stage == model::stage::kForward || moment.stage == model::stage::kBackward);
}

model::StagePeak settled(const Forecast& forecast, model::StagePeak moment) {
  apply_split_of_samples(forecast, moment);
  moment.holdings.weights = scaled(moment.holdings.weights, forecast.weight_share);
  moment.holdings.gradients = scaled(moment.holdings.gradients, forecast.parameter_share * forecast.gradient_share);
  return moment;
}

Bytes weights_at(const Forecast& forecast, const model::StagePeak& settled) {
  const Bytes weights = settled.holdings.weights;
  return settled.phase == model::phase::kLoad ? weights : scaled(weights, forecast.later_weights);
}

std::string_view find_best_run(const Forecast& forecast) {
  if (!forecast.measured_with.empty()) return forecast.measured_with;
  const bool saves_as_before = forecast.activation_scale == 1 && forecast.repeats == nullptr;
  if (!forecast.saved_measured_with.empty() && saves_as_before) return forecast.saved_measured_with;
  return !forecast.step_measured_with.empty() ? forecast.step_measured_with : forecast.evaluation_measured_with;
}

void scale_batch(Forecast& forecast, std::string_view phase, double share) {
  for (model::StagePeak& moment : forecast.stage_peaks) {
    if (moment.phase != phase) continue;
    model::Holdings& holdings = moment.holdings;
    holdings.inputs = scaled(holdings.inputs, share);
    holdings.activations = scaled(holdings.activations, share);
    // The optimizer's temporaries follow the parameters, not the batch.
    if (moment.stage != model::stage::kOptimizer) holdings.temporaries = scaled(holdings.temporaries, share);
  }
  if (phase != model::phase::kTrain) return;
  forecast.activation_scale *= share;
  forecast.training_batch *= share;
}

model::StepWork find_work(const Forecast& forecast) {
  model::StepWork work = forecast.work;
  const Bytes moved = std::max(forecast.offloaded - forecast.recomputed, Bytes(0));
  work.host_bytes += 2 * static_cast<double>(moved.count()) * forecast.activation_scale * forecast.passes;
  work.host_bytes += static_cast<double>(forecast.weights_brought.count()) / forecast.evaluation_batch;
  return work;
}

void scale_work(model::StepWork& work, double factor) {
  for (double& macs : work.macs) macs *= factor;
  work.matmul_bytes *= factor;
  work.other_bytes *= factor;
  work.recomputed_macs *= factor;
}

void halve_matmuls(model::Number half, model::StepWork& work) {
  for (const auto from : {model::Number::kF32, model::Number::kTf32}) {
    double& macs = work.macs[static_cast<std::size_t>(from)];
    work.macs[static_cast<std::size_t>(half)] += macs * kMatmulsInHalf;
    macs *= 1 - kMatmulsInHalf;
  }
}

void worsen(Forecast& forecast, Effect effect, std::string consequence) {
  forecast.effect = std::max(forecast.effect, effect);
  forecast.consequences.push_back(std::move(consequence));
}

Bytes find_cache(const model::Job& job) {
  Bytes allocated, reserved;
  for (const auto& phase : job.phases) {
    allocated = std::max(allocated, phase.peak_allocated);
    reserved = std::max(reserved, phase.peak_reserved);
  }
  return reserved - allocated;
}

Outlook add_up(const model::Job& job, const Forecast& forecast) {
  Outlook outlook;
  Bytes before, after;
  for (const model::StagePeak& moment : job.stage_peaks) before = std::max(before, sum(moment.holdings));
  for (model::StagePeak moment : forecast.stage_peaks) {
    free_activations(forecast, moment);
    moment = settled(forecast, std::move(moment));
    moment.holdings.weights = weights_at(forecast, moment);
    const Bytes allocated = sum(moment.holdings);
    after = std::max(after, allocated);
    const auto known = std::ranges::find(outlook.phases, moment.phase, &PhaseOutlook::phase);
    if (known == outlook.phases.end()) {
      outlook.phases.push_back({moment.phase, allocated});
    } else {
      known->peak = std::max(known->peak, allocated);
    }
  }
  const double shrink =
      before > Bytes(0) ? static_cast<double>(after.count()) / static_cast<double>(before.count()) : 1;
  const Bytes cache = scaled(find_cache(job), std::min(1.0, shrink) * forecast.cache_scale);
  const Bytes added = job.overhead + scaled(cache, kStuckCache);
  for (PhaseOutlook& phase : outlook.phases) phase.peak += added;
  outlook.needs = after + added;
  outlook.uses = after + job.overhead + cache;
  return outlook;
}

}  // namespace vramfit::plan
