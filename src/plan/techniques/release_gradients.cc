// Each parameter is updated in the backward pass, as soon as its gradient is there, and the gradient freed at once.
//
// Gradients, and the temporaries of the optimizer's step, are alive for one parameter at a time. Only the run tells
// whether the loop allows it: nothing between backward() and step() may look at gradients.
#include <fmt/format.h>

#include <algorithm>

#include "model/number_text.h"
#include "plan/evaluation.h"
#include "plan/techniques/one_by_one.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

// An update of one parameter needs temporaries of about twice its size.
constexpr double kTemporaries = 2;
// A step launches the kernels for each parameter by itself, where foreach takes many together.
constexpr double kLaunches = 8;
// Gradients of which a job holds less than this share of its peak are not worth a run.
constexpr double kWorthReleasing = 0.01;

class ReleaseGradients final : public Technique {
 public:
  std::string_view id() const override { return "release_gradients"; }
  ActsIn acts_in() const override { return ActsIn::kTraining; }
  // The slot of micro_batch, which adds up the gradients of several backward passes.
  std::string_view slot() const override { return micro_batch().slot(); }

  Applicability applies_to(const model::Job& job, const Target&) const override {
    if (!job.optimizer) return not_possible("no optimizer of torch.optim was seen");
    const std::string& name = job.optimizer->class_name;
    if (!treats_parameters_one_by_one(name)) {
      return not_possible(name + " does not treat each parameter by itself");
    }
    if (job.precision.scaler) return not_possible("a GradScaler may leave a step out once it knows all gradients");
    const Bytes all = gradients_at_most(job), peak = find_peak(job);
    const Bytes freed = std::max(all - job.optimizer->largest, Bytes(0));
    if (freed <= scaled(peak, kWorthReleasing)) {
      return not_possible(fmt::format("of {} at the peak, gradients hold {}, of which {} are of one parameter",
                                      to_string(peak), to_string(all),
                                      to_string(std::min(all, job.optimizer->largest))));
    }
    return applicable();
  }

  std::vector<model::Change> options(const model::Job&, const Target&) const override {
    return {{std::string(id()), {}}};
  }

  // Its run shows when state comes, and which gradient has to wait (of weights that two modules share).
  std::optional<model::Change> find_measurable(const model::Job&, const Target&) const override {
    return model::Change{std::string(id()), {}};
  }
  bool is_foretold_unmeasured() const override { return true; }

  void predict(const model::Job& job, const Target&, const model::Change&, Forecast& forecast) const override {
    forecast.releases_gradients = true;
    if (is_measured(job, id())) forecast.step_measured_with = id();
    const Bytes largest = job.optimizer->largest, of_update = scaled(largest, kTemporaries);
    for (model::StagePeak& moment : forecast.stage_peaks) {
      if (moment.phase != model::phase::kTrain) continue;
      model::Holdings& holdings = moment.holdings;
      const bool is_in_backward = moment.stage == model::stage::kBackward;
      holdings.gradients = is_in_backward ? std::min(holdings.gradients, largest) : Bytes(0);
      if (moment.stage == model::stage::kOptimizer) holdings.temporaries = std::min(holdings.temporaries, of_update);
    }
    model::StepWork& work = forecast.work;
    work.launches += work.optimizer_launches * (kLaunches - 1);
    work.optimizer_launches *= kLaunches;
    forecast.uncertainty = std::max(forecast.uncertainty, 0.05);
  }

  std::string describe(const model::Change&) const override { return "gradients released in backward"; }
};

}  // namespace

const Technique& release_gradients() {
  static const ReleaseGradients kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
