// Pure bfloat16: weights, gradients, the optimizer's state and activations in half the bytes. Unlike autocast it keeps
// no weights in float32, so updates that are small beside a weight are rounded away.
//
// What a network makes in float32 all the same (logits for its loss, say) is its own affair: it is not foreseen.
#include <algorithm>

#include "model/number_text.h"
#include "plan/evaluation.h"
#include "plan/measured_shares.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

constexpr double kInHalf = 0.5;
constexpr double kBytesOfFloat = 4;

bool is_in_float(const model::Job& job) {
  return static_cast<double>(job.parameter_bytes.count()) >= kBytesOfFloat * static_cast<double>(job.parameters);
}

class HalfWeights final : public Technique {
 public:
  std::string_view id() const override { return "half_weights"; }
  ActsIn acts_in() const override { return ActsIn::kTraining; }

  // Both choose what is computed in half precision.
  std::string_view slot() const override { return "autocast"; }

  Applicability applies_to(const model::Job& job, const Target& target) const override {
    if (!job.optimizer) return not_possible("no optimizer was seen");
    if (target.card.capability < kFirstWithBf16) return not_possible("the card has no bfloat16 arithmetic");
    if (job.parameters <= 0 || !is_in_float(job)) return in_force("weights are held in half precision already");
    if (job.precision.autocast)
      return not_possible("the script already runs under autocast " + *job.precision.autocast);
    if (job.precision.scaler) return not_possible("the script scales its loss for float16");
    return applicable();
  }

  std::vector<model::Change> options(const model::Job&, const Target&) const override {
    return {{std::string(id()), {}}};
  }

  std::optional<model::Change> find_measurable(const model::Job& job, const Target& target) const override {
    return options(job, target).front();
  }

  void predict(const model::Job& job, const Target&, const model::Change&, Forecast& forecast) const override {
    for (model::StagePeak& moment : forecast.stage_peaks) {
      if (moment.phase == model::phase::kLoad) continue;
      const HoldingShares shares = measured_shares(job, id(), moment, {.activations = kInHalf, .temporaries = kInHalf});
      moment.holdings.optimizer = scaled(moment.holdings.optimizer, kInHalf);
      moment.holdings.activations = scaled(moment.holdings.activations, shares.activations);
      moment.holdings.temporaries = scaled(moment.holdings.temporaries, shares.temporaries);
      if (!is_measured(job, id())) scale_gathered_graphs(job, shares.activations, moment.holdings);
    }
    if (is_measured(job, id())) forecast.measured_with = id();
    forecast.gradient_share *= kInHalf;
    forecast.later_weights *= kInHalf;
    forecast.uncertainty = std::max(forecast.uncertainty, is_measured(job, id()) ? 0.04 : 0.1);
    halve_matmuls(model::Number::kBf16, forecast.work);
    forecast.work.matmul_bytes *= kInHalf;
    forecast.work.other_bytes *= kInHalf;
    forecast.work.narrower *= kInHalf;
    worsen(
        forecast, Effect::kUpdates,
        "weights, gradients and the optimizer's state have 8 bits of precision: updates of less than about 1/256 of a "
        "weight are lost, so the loss may stop falling; checkpoints are in bf16 too");
  }

  std::string describe(const model::Change&) const override { return "pure bf16"; }
};

}  // namespace

const Technique& half_weights() {
  static const HalfWeights kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
