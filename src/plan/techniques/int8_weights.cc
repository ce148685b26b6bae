// Weights of jobs that only evaluate in 8 bits, a scale for each output channel; one layer's are made numbers at a time
// (python/vramfit/apply/int8_weights.py). Computation stays in the type that it was.
#include <fmt/format.h>

#include <algorithm>

#include "plan/evaluation.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

constexpr double kShareInInt8 = 0.3;  // of fp32 weights: a quarter, and the layers that stay as they are
constexpr double kWorthInt8 = 0.05;   // of what an evaluation needs

// The evaluation's own: at the moment at which it holds most.
double measured_weights(const model::Job& job, std::string_view id) {
  double share = 0;
  for (const model::StagePeak& moment : job.stage_peaks) {
    if (!is_evaluation(moment)) continue;
    share = std::max(share, measured_shares(job, id, moment, {.weights = kShareInInt8}).weights);
  }
  return share > 0 ? std::min(share, 1.0) : kShareInInt8;
}

class Int8Weights final : public Technique {
 public:
  std::string_view id() const override { return "int8_weights"; }
  ActsIn acts_in() const override { return ActsIn::kEvaluations; }

  Applicability applies_to(const model::Job& job, const Target& target) const override {
    if (Applicability found = check_evaluation_alone(job, target); found.standing != Standing::kApplicable)
      return found;
    const Bytes needs = evaluation_needs(job);
    if (static_cast<double>(job.parameter_bytes.count()) >= kWorthInt8 * static_cast<double>(needs.count())) {
      return applicable();
    }
    return not_possible(fmt::format("weights are {} of the {} that evaluation needs", to_string(job.parameter_bytes),
                                    to_string(needs)));
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
    forecast.weight_share = std::min(forecast.weight_share, measured_weights(job, id()));
    forecast.uncertainty = std::max(forecast.uncertainty, is_measured(job, id()) ? 0.04 : 0.15);
    worsen(forecast, Effect::kPrecision,
           "weights of linear layers, convolutions and embeddings round to 8 bits with a scale per output channel");
  }

  std::string describe(const model::Change&) const override { return "8-bit weights"; }
};

}  // namespace

const Technique& int8_weights() {
  static const Int8Weights kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
