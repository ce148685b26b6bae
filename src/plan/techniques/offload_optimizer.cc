// The optimizer's state waits in host memory: a step brings over that of some parameters, updates them, and takes it
// back. The same updates; the price is the way through the card's slot, there and back, in each step.
#include <fmt/format.h>

#include <algorithm>

#include "model/number_text.h"
#include "plan/evaluation.h"
#include "plan/techniques/one_by_one.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

// Bytes of parameters whose state is on the card at once, as in python/vramfit/apply/offload_optimizer.py.
constexpr Bytes kAtOnce = Bytes::mib(64);
// A state that is less than this share of the peak is not worth a run.
constexpr double kWorthItsWay = 0.03;

// The share of the state that is on the card within a step: what is trained comes in turns of kAtOnce, or of its
// largest tensor.
double share_at_once(const model::Job& job) {
  const Bytes trained = gradients_at_most(job);
  if (trained <= Bytes()) return 1;
  const Bytes turn = std::max(kAtOnce, job.optimizer->largest);
  return std::min(1.0, static_cast<double>(turn.count()) / static_cast<double>(trained.count()));
}

class OffloadOptimizer final : public Technique {
 public:
  std::string_view id() const override { return "offload_optimizer"; }
  ActsIn acts_in() const override { return ActsIn::kTraining; }
  // Other optimizers have a step of their own.
  std::string_view slot() const override { return optimizer().slot(); }

  Applicability applies_to(const model::Job& job, const Target& target) const override {
    if (!job.optimizer) return not_possible("no optimizer of torch.optim was seen");
    if (target.card.is_integrated) return not_possible("the card has no memory but the host's");
    const std::string& name = job.optimizer->class_name;
    if (!treats_parameters_one_by_one(name)) {
      return not_possible(name + " does not treat each parameter by itself");
    }
    const Bytes peak = find_peak(job), state = job.optimizer->state;
    if (state <= scaled(peak, kWorthItsWay)) {
      return not_possible(fmt::format("of {} at the peak, {} are {}'s state", to_string(peak), to_string(state), name));
    }
    return applicable();
  }

  std::vector<model::Change> options(const model::Job&, const Target&) const override {
    return {{std::string(id()), {}}};
  }

  // What an update works in beside the state, of how many weights at once, its run shows.
  std::optional<model::Change> find_measurable(const model::Job&, const Target&) const override {
    return model::Change{std::string(id()), {}};
  }
  bool is_foretold_unmeasured() const override { return true; }

  void predict(const model::Job& job, const Target&, const model::Change&, Forecast& forecast) const override {
    const double share = share_at_once(job);
    const bool is_other_known = forecast.releases_gradients && !forecast.step_measured_with.empty();
    if (is_measured(job, id()) && !is_other_known) forecast.step_measured_with = id();
    forecast.state_at_once = scaled(job.optimizer->state, share);
    forecast.parameters_at_once = kAtOnce;
    for (model::StagePeak& moment : forecast.stage_peaks) {
      model::Holdings& holdings = moment.holdings;
      const bool is_step = moment.stage == model::stage::kOptimizer;
      holdings.optimizer = is_step ? scaled(holdings.optimizer, share) : Bytes(0);
      if (is_step) holdings.temporaries = scaled(holdings.temporaries, share);
    }
    const Bytes state = job.optimizer->state;
    forecast.work.host_bytes += 2 * static_cast<double>(state.count());
    forecast.uncertainty = std::max(forecast.uncertainty, 0.05);
    worsen(
        forecast, Effect::kSame,
        fmt::format("the optimizer's state waits in host memory: {} of it, pinned; what a checkpoint holds of it are "
                    "tensors of the CPU",
                    to_string(state)));
  }

  std::string describe(const model::Change&) const override { return "optimizer state in host memory"; }
};

}  // namespace

const Technique& offload_optimizer() {
  static const OffloadOptimizer kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
