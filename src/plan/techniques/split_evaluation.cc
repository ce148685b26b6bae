// An evaluation's network works on its batch in parts: for batches that no loader makes, as of a script that stacks its
// images itself. Nothing is learned there, and no sample hangs on another: results stay the same.
//
// What goes into the network and what comes out of it stay whole.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "model/number_text.h"
#include "plan/evaluation.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

// How many parts are tried: each has half of the activations of the one before.
constexpr std::int64_t kMostEvaluationParts = 16;

class SplitEvaluation final : public Technique {
 public:
  std::string_view id() const override { return "split_evaluation"; }
  ActsIn acts_in() const override { return ActsIn::kEvaluations; }
  // The same batches in parts, one way or the other.
  std::string_view slot() const override { return validation_batch().slot(); }

  Applicability applies_to(const model::Job& job, const Target& target) const override {
    if (job.precision.compiled) return not_possible("the model is compiled: for the sizes of whole batches");
    if (job.validates_with_gradients) return not_possible("the evaluation runs with gradients");
    if (validation_batch().applies_to(job, target) == applicable()) {
      return not_possible("the evaluation's DataLoader can make smaller batches");
    }
    if (job.evaluated_at_once == 1) return in_force("the evaluation batch is 1 already");
    return check_evaluation(job, target);
  }

  std::vector<model::Change> options(const model::Job& job, const Target&) const override {
    const std::int64_t batch = job.evaluated_at_once > 0 ? job.evaluated_at_once : kMostEvaluationParts;
    std::vector<model::Change> changes;
    for (std::int64_t parts = 2; parts <= std::min(kMostEvaluationParts, batch); parts *= 2) {
      changes.push_back({std::string(id()), {{"parts", parts}}});
    }
    return changes;
  }

  void predict(const model::Job& job, const Target&, const model::Change& change, Forecast& forecast) const override {
    const auto parts = static_cast<double>(model::find_integer(change, "parts").value_or(1));
    const double share = 1 / parts;
    std::vector<Bytes> inputs;  // they stay whole
    for (const model::StagePeak& moment : forecast.stage_peaks) inputs.push_back(moment.holdings.inputs);
    for (const std::string_view phase : {model::phase::kValidate, model::phase::kTest}) {
      scale_batch(forecast, phase, share);
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) forecast.stage_peaks[i].holdings.inputs = inputs[i];
    forecast.evaluation_batch *= share;
    if (!trains(job)) {  // else the work is that of a training step
      forecast.work.launches *= parts;
      forecast.work.matmul_bytes += static_cast<double>(job.parameter_bytes.count()) * (parts - 1);
    }
    forecast.uncertainty = std::max(forecast.uncertainty, 0.1);
  }

  std::string describe(const model::Change& change) const override {
    return fmt::format("evaluation in {} parts of a batch", model::find_integer(change, "parts").value_or(0));
  }
};

}  // namespace

const Technique& split_evaluation() {
  static const SplitEvaluation kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
