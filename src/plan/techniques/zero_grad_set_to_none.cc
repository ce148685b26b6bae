// zero_grad(set_to_none=True) where the script says False: gradients are given back instead of being filled with zeros,
// and come one by one as the next backward pass frees activations. The same sums.
#include <algorithm>

#include "model/number_text.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

// The share of gradients that are there again when a backward pass holds most, which is near its beginning.
constexpr double kThereAtThePeak = 0.5;

class ZeroGradSetToNone final : public Technique {
 public:
  std::string_view id() const override { return "zero_grad_set_to_none"; }
  ActsIn acts_in() const override { return ActsIn::kTraining; }

  Applicability applies_to(const model::Job& job, const Target&) const override {
    if (!job.kept_gradients) return not_possible("the script was not seen to call zero_grad(set_to_none=False)");
    return applicable();
  }

  std::vector<model::Change> options(const model::Job&, const Target&) const override {
    return {{std::string(id()), {}}};
  }

  void predict(const model::Job& job, const Target&, const model::Change&, Forecast& forecast) const override {
    forecast.uncertainty = std::max(forecast.uncertainty, 0.1);
    if (forecast.accumulates) return;
    for (model::StagePeak& moment : forecast.stage_peaks) {
      if (!holds_graph(moment)) continue;
      const bool is_forward = moment.stage == model::stage::kForward;
      if (is_forward && job.kept_gradients->after_forward) continue;
      moment.holdings.gradients = scaled(moment.holdings.gradients, is_forward ? 0 : kThereAtThePeak);
    }
  }

  std::string describe(const model::Change&) const override { return "zero_grad(set_to_none=True)"; }
};

}  // namespace

const Technique& zero_grad_set_to_none() {
  static const ZeroGradSetToNone kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
