// What techniques that hold an evaluation's weights in fewer bits have in common: all but how many, and when they
// apply.
#ifndef VRAMFIT_PLAN_TECHNIQUES_FEWER_BITS_H
#define VRAMFIT_PLAN_TECHNIQUES_FEWER_BITS_H

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/evaluation.h"
#include "plan/technique.h"

namespace vramfit::plan {

class WeightsInFewerBits : public Technique {
 public:
  ActsIn acts_in() const override { return ActsIn::kEvaluations; }

  std::vector<model::Change> options(const model::Job&, const Target&) const override {
    return {{std::string(id()), {}}};
  }

  std::optional<model::Change> find_measurable(const model::Job& job, const Target& target) const override {
    return options(job, target).front();
  }

  void predict(const model::Job& job, const Target&, const model::Change&, Forecast& forecast) const override {
    for (model::StagePeak& moment : forecast.stage_peaks) {
      if (!is_evaluation(moment)) continue;
      HoldingShares shares = measured_shares(job, id(), moment, {});
      shares.weights = 1;  // by weight_share
      scale_holdings(moment.holdings, shares);
    }
    forecast.weight_share = std::min(forecast.weight_share, measured_weights(job));
    forecast.uncertainty = std::max(forecast.uncertainty, is_measured(job, id()) ? 0.04 : 0.15);
    worsen(forecast, Effect::kPrecision, std::string(consequence()));
  }

 private:
  virtual double assumed_share() const = 0;  // of fp32 weights, where no run has shown it
  virtual std::string_view consequence() const = 0;

  // The evaluation's own: at the moment at which it holds most.
  double measured_weights(const model::Job& job) const {
    double share = 0;
    for (const model::StagePeak& moment : job.stage_peaks) {
      if (!is_evaluation(moment)) continue;
      share = std::max(share, measured_shares(job, id(), moment, {.weights = assumed_share()}).weights);
    }
    return share > 0 ? std::min(share, 1.0) : assumed_share();
  }
};

}  // namespace vramfit::plan

#endif
