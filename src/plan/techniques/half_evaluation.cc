// Evaluation in half precision: autocast around every forward in eval mode, without its cache of half weights, which
// would keep a copy of each until the forward is over. Training is not touched.
//
// `weights`, where nothing is trained: the weights of linear layers, convolutions and embeddings are kept in that type
// too. Autocast rounds them to it in every forward anyway, so the outputs are the same.
#include <fmt/format.h>

#include <algorithm>

#include "plan/evaluation.h"
#include "plan/measured_shares.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

constexpr double kAssumedShare = 0.6;   // of activations: inputs, norms and outputs stay fp32
constexpr double kWeightsInHalf = 0.5;  // nearly all weights are of layers that are cast

bool keeps_weights_in_half(const model::Change& change) {
  const auto found = change.settings.find("weights");
  const bool* flag = found != change.settings.end() ? std::get_if<bool>(&found->second) : nullptr;
  return flag != nullptr && *flag;
}

class HalfEvaluation final : public Technique {
 public:
  std::string_view id() const override { return "half_evaluation"; }
  ActsIn acts_in() const override { return ActsIn::kEvaluations; }

  Applicability applies_to(const model::Job& job, const Target& target) const override {
    if (job.precision.autocast) return in_force("the script already runs under autocast " + *job.precision.autocast);
    if (target.card.capability < model::ComputeCapability{5, 3}) {
      return not_possible("the card has no half-precision arithmetic");
    }
    const double half = job.work.macs[static_cast<std::size_t>(model::Number::kF16)] +
                        job.work.macs[static_cast<std::size_t>(model::Number::kBf16)];
    if (half > 0.5 * total_macs(job.work)) return in_force("the model already computes in half precision");
    return check_evaluation(job, target);
  }

  std::vector<model::Change> options(const model::Job& job, const Target& target) const override {
    const std::string dtype = target.card.capability >= kFirstWithBf16 ? "bfloat16" : "float16";
    std::vector<model::Change> changes = {{std::string(id()), {{"dtype", dtype}}}};
    if (!trains(job)) changes.push_back({std::string(id()), {{"dtype", dtype}, {"weights", true}}});
    return changes;
  }

  std::optional<model::Change> find_measurable(const model::Job& job, const Target& target) const override {
    return options(job, target).front();
  }

  void predict(const model::Job& job, const Target&, const model::Change& change, Forecast& forecast) const override {
    const bool weights = keeps_weights_in_half(change);
    for (model::StagePeak& moment : forecast.stage_peaks) {
      if (is_evaluation(moment)) {
        HoldingShares shares = measured_shares(job, id(), moment, {1, 1, kAssumedShare, 1, kAssumedShare});
        shares.weights = 1;  // the recorder's word for half copies is activations
        scale_holdings(moment.holdings, shares);
        if (!is_measured(job, id())) scale_gathered_graphs(job, shares.activations, moment.holdings);
      }
    }
    if (is_measured(job, id()) && !weights) forecast.measured_with = id();
    if (weights) forecast.weight_share = std::min(forecast.weight_share, kWeightsInHalf);
    forecast.uncertainty = std::max(forecast.uncertainty, is_measured(job, id()) ? 0.04 : 0.2);
    const bool bf16 = model::find_text(change, "dtype") == "bfloat16";
    if (!trains(job)) {
      halve_matmuls(bf16 ? model::Number::kBf16 : model::Number::kF16, forecast.work);
      forecast.work.matmul_bytes *= 0.5;
    }
    worsen(forecast, Effect::kPrecision, explain(job, bf16));
  }

  std::string describe(const model::Change& change) const override {
    const bool bf16 = model::find_text(change, "dtype").value_or("bfloat16") == "bfloat16";
    return fmt::format("evaluation in {}{}", bf16 ? "bf16" : "fp16",
                       keeps_weights_in_half(change) ? ", weights too" : "");
  }

  std::string_view slot() const override { return "autocast"; }

 private:
  static std::string explain(const model::Job& job, bool bf16) {
    return fmt::format("outputs of an evaluation round to {}{}", bf16 ? "bf16" : "fp16",
                       trains(job) ? "; the training is not touched" : "");
  }
};

}  // namespace

const Technique& half_evaluation() {
  static const HalfEvaluation kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
