// As 8-bit weights, in 4 bits with a scale for each 64 numbers (python/vramfit/apply/int4_weights.py).
#include <fmt/format.h>

#include <algorithm>

#include "plan/evaluation.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

constexpr double kShareInInt4 = 0.17;  // of fp32 weights: 4 bits and a scale for 64, and layers that stay as they are

double weights_left_by_int4(const model::Job& job, std::string_view id) {
  double share = 0;
  for (const model::StagePeak& moment : job.stage_peaks) {
    if (!is_evaluation(moment)) continue;
    share = std::max(share, measured_shares(job, id, moment, {.weights = kShareInInt4}).weights);
  }
  return share > 0 ? std::min(share, 1.0) : kShareInInt4;
}

class Int4Weights final : public Technique {
 public:
  std::string_view id() const override { return "int4_weights"; }
  ActsIn acts_in() const override { return ActsIn::kEvaluations; }
  std::string_view slot() const override { return int8_weights().slot(); }

  Applicability applies_to(const model::Job& job, const Target& target) const override {
    return int8_weights().applies_to(job, target);
  }

  std::vector<model::Change> options(const model::Job&, const Target&) const override {
    return {{std::string(id()), {}}};
  }

  std::optional<model::Change> find_measurable(const model::Job& job, const Target& target) const override {
    return options(job, target).front();
  }

  void predict(const model::Job& job, const Target&, const model::Change&, Forecast& forecast) const override {
    for (model::StagePeak& moment : forecast.stage_peaks) {
      if (!is_evaluation(moment)) continue;
      HeldShares shares = measured_shares(job, id(), moment, {});
      shares.weights = 1;  // by weight_share
      scale_holdings(moment.holdings, shares);
    }
    forecast.weight_share = std::min(forecast.weight_share, weights_left_by_int4(job, id()));
    forecast.uncertainty = std::max(forecast.uncertainty, is_measured(job, id()) ? 0.04 : 0.15);
    worsen(forecast, Effect::kPrecision,
           "weights of linear layers, convolutions and embeddings round to 4 bits with a scale for each 64 of them: "
           "accuracy has to be looked at");
  }

  std::string describe(const model::Change&) const override { return "4-bit weights"; }
};

}  // namespace

const Technique& int4_weights() {
  static const Int4Weights kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
