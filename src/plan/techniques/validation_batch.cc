// Fewer samples at once in evaluation. Nothing is learned there, so results stay the same.
#include <fmt/format.h>

#include "model/number_text.h"
#include "plan/evaluation.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

class ValidationBatch final : public Technique {
 public:
  std::string_view id() const override { return "validation_batch"; }
  ActsIn acts_in() const override { return ActsIn::kEvaluations; }

  Applicability applies_to(const model::Job& job, const Target&) const override {
    const model::LoaderFacts* loader = find_evaluation_loader(job);
    if (loader == nullptr) return not_possible("no evaluation DataLoader was seen");
    if (loader->batch_size <= 0) return not_possible("the evaluation DataLoader has no fixed batch size");
    if (loader->batch_size == 1) return in_force("the evaluation batch is 1 already");
    const model::LoaderFacts* training = model::find_loader(job, model::phase::kTrain);
    if (training != nullptr && training->ordinal == loader->ordinal) {
      return not_possible("training and evaluation share one DataLoader");
    }
    return applicable();
  }

  std::vector<model::Change> options(const model::Job& job, const Target&) const override {
    const model::LoaderFacts& loader = *find_evaluation_loader(job);
    std::vector<model::Change> changes;
    for (std::int64_t size = loader.batch_size / 2; size >= 1; size /= 2) {
      changes.push_back({"micro_batch",
                         {{"micro_batch", size},
                          {"accumulate", std::int64_t{1}},
                          {"loaders", std::vector<std::int64_t>{loader.ordinal}}}});
    }
    return changes;
  }

  void predict(const model::Job& job, const Target&, const model::Change& change, Forecast& forecast) const override {
    const model::LoaderFacts& loader = *find_evaluation_loader(job);
    const auto size = static_cast<double>(model::find_integer(change, "micro_batch").value_or(1));
    const double share = size / static_cast<double>(loader.batch_size);
    scale_batch(forecast, loader.phase, share);
    forecast.evaluation_batch *= share;
    forecast.uncertainty = std::max(forecast.uncertainty, 0.05);
  }

  std::string describe(const model::Change& change) const override {
    return fmt::format("evaluation batch {}", model::find_integer(change, "micro_batch").value_or(0));
  }
};

}  // namespace

const Technique& validation_batch() {
  static const ValidationBatch kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
