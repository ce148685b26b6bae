// The weights of a network that is evaluated wait in host memory, and each module's come to the card for its forward
// (python/vramfit/apply/offload_weights.py). The same numbers and kernels; the price is the way through the card's slot
// in each forward. Back nothing has to go: the copy in host memory is still there.
#include <fmt/format.h>

#include <algorithm>

#include "model/number_names.h"
#include "plan/evaluation.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

constexpr double kAssumedAtOnce = 0.2;     // of the weights, where modules were not seen
constexpr double kWorthItsWeights = 0.05;  // of what an evaluation needs

Bytes find_at_once(const model::Job& job) {
  return job.weights_at_once > Bytes() ? job.weights_at_once : scaled(job.parameter_bytes, kAssumedAtOnce);
}

double share_read_at_once(const model::Job& job) {
  if (job.parameter_bytes <= Bytes()) return 1;
  return std::min(1.0,
                  static_cast<double>(find_at_once(job).count()) / static_cast<double>(job.parameter_bytes.count()));
}

class OffloadWeights final : public Technique {
 public:
  std::string_view id() const override { return "offload_weights"; }
  ActsIn acts_in() const override { return ActsIn::kEvaluations; }
  // Weights that are integers are made numbers by layers of their own, whenever something reads them.
  std::string_view slot() const override { return int8_weights().slot(); }

  Applicability applies_to(const model::Job& job, const Target& target) const override {
    if (target.card.is_integrated) return not_possible("the card has no memory but the host's");
    if (job.validates_with_gradients) return not_possible("the evaluation runs with gradients");
    if (job.precision.compiled) return not_possible("the network is compiled, which fixes where its weights are");
    if (Applicability found = check_evaluation(job, target); found.standing != Standing::kApplicable) return found;
    const Bytes needs = evaluation_needs(job),
                goes = job.parameter_bytes - std::min(find_at_once(job), job.parameter_bytes);
    if (goes <= scaled(needs, kWorthItsWeights)) {
      return not_possible(fmt::format("of {} that evaluation needs, {} are weights that could wait", to_string(needs),
                                      to_string(goes)));
    }
    return applicable();
  }

  std::vector<model::Change> options(const model::Job&, const Target&) const override {
    return {{std::string(id()), {}}};
  }

  // What is left of the weights while they are loaded hangs on where the network is made.
  std::optional<model::Change> find_measurable(const model::Job&, const Target&) const override {
    return model::Change{std::string(id()), {}};
  }

  void predict(const model::Job& job, const Target&, const model::Change&, Forecast& forecast) const override {
    const bool trained = trains(job);
    for (model::StagePeak& moment : forecast.stage_peaks) {
      const bool waits = is_evaluation(moment) || (!trained && moment.phase == model::phase::kLoad);
      if (!waits) continue;
      HoldingShares shares = measured_shares(job, id(), moment, {.weights = share_read_at_once(job)});
      scale_holdings(moment.holdings, {.weights = shares.weights, .activations = shares.activations});
    }
    if (is_measured(job, id())) forecast.evaluation_measured_with = id();
    if (!trained) forecast.weights_brought = job.parameter_bytes;  // else the work is that of a training step
    forecast.uncertainty = std::max(forecast.uncertainty, is_measured(job, id()) ? 0.04 : 0.15);
    worsen(
        forecast, Effect::kSame,
        fmt::format("the network's weights wait in host memory: {}, pinned; each evaluation's forward copies them to "
                    "the card again",
                    to_string(job.parameter_bytes)));
  }

  std::string describe(const model::Change&) const override { return "weights in host memory"; }
};

}  // namespace

const Technique& offload_weights() {
  static const OffloadWeights kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
