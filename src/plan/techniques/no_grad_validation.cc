// Evaluation without a graph: torch.no_grad() around every forward in eval mode. Results stay the same.
#include "model/number_text.h"
#include "plan/evaluation.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

// Without a graph only the tensors between two layers are alive; of a deep network's activations, a small part.
constexpr double kAliveWithoutGraph = 0.15;

class NoGradValidation final : public Technique {
 public:
  std::string_view id() const override { return "no_grad_validation"; }
  ActsIn acts_in() const override { return ActsIn::kEvaluations; }

  Applicability applies_to(const model::Job& job, const Target&) const override {
    if (model::find_phase(job, model::phase::kValidate) == nullptr &&
        model::find_phase(job, model::phase::kTest) == nullptr) {
      return not_possible("the script does not evaluate");
    }
    if (!job.validates_with_gradients) return in_force("evaluation already runs without gradients");
    return applicable();
  }

  std::vector<model::Change> options(const model::Job&, const Target&) const override {
    return {{std::string(id()), {}}};
  }

  std::optional<model::Change> find_measurable(const model::Job&, const Target&) const override {
    return model::Change{std::string(id()), {}};
  }
  bool is_foretold_unmeasured() const override { return true; }

  bool only_lets_go() const override { return true; }

  void predict(const model::Job& job, const Target&, const model::Change&, Forecast& forecast) const override {
    for (model::StagePeak& moment : forecast.stage_peaks) {
      if (!is_evaluation(moment)) continue;
      moment.holdings.activations = scaled(moment.holdings.activations, kAliveWithoutGraph);
      moment.holdings.gathered = scaled(moment.holdings.gathered, kAliveWithoutGraph);  // each result kept its graph
    }
    forecast.evaluation_graph = kAliveWithoutGraph;
    if (is_measured(job, id())) forecast.evaluation_measured_with = id();
    forecast.uncertainty = std::max(forecast.uncertainty, 0.15);
  }

  std::string describe(const model::Change&) const override { return "no_grad in evaluation"; }
  bool mends_cause(const model::Job& job) const override { return job.validates_with_gradients; }
};

}  // namespace

const Technique& no_grad_validation() {
  static const NoGradValidation kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
