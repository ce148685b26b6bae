// Another batch without accumulation: each optimizer step learns from fewer samples, or (search/largest_batch) from
// more. Only with --keep any: it changes the gradient noise, and the learning rate would have to follow.
#include <fmt/format.h>

#include <algorithm>

#include "model/number_text.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

class EffectiveBatch final : public Technique {
 public:
  std::string_view id() const override { return "effective_batch"; }
  ActsIn acts_in() const override { return ActsIn::kTraining; }
  std::string_view slot() const override { return micro_batch().slot(); }

  Applicability applies_to(const model::Job& job, const Target& target) const override {
    if (target.keep_effective_batch) return not_possible("the effective batch is kept; --keep any gives it up");
    return micro_batch().applies_to(job, target);
  }

  // Every size, not only divisors. With hundreds of them, steps of about 1/16 of the batch are fine enough.
  std::vector<model::Change> options(const model::Job& job, const Target&) const override {
    const model::LoaderFacts& loader = *model::find_loader(job, model::phase::kTrain);
    const std::int64_t step = std::max<std::int64_t>(1, loader.batch_size / 16);
    std::vector<model::Change> changes;
    for (std::int64_t size = loader.batch_size - step; size > 0; size -= step)
      changes.push_back(batch_of(loader, size));
    if (step > 1) changes.push_back(batch_of(loader, 1));
    return changes;
  }

  void predict(const model::Job& job, const Target&, const model::Change& change, Forecast& forecast) const override {
    const auto size = model::find_integer(change, "batch_size").value_or(1);
    const auto before = model::find_loader(job, model::phase::kTrain)->batch_size;
    const double share = static_cast<double>(size) / static_cast<double>(before);
    scale_batch(forecast, model::phase::kTrain, share);
    // The same number of samples takes more steps: work is counted for as many samples as one step had before.
    model::StepWork& work = forecast.work;
    work.launches /= share;
    work.pieces /= share;
    work.other_bytes += 4 * static_cast<double>(job.parameter_bytes.count()) * (1 / share - 1);
    forecast.uncertainty = std::max(forecast.uncertainty, 0.05);
    worsen(forecast, Effect::kOptimizer,
           fmt::format("the effective batch is {} instead of {}: the learning rate should follow", size, before));
  }

  std::string describe(const model::Change& change) const override {
    return fmt::format("batch {}", model::find_integer(change, "batch_size").value_or(0));
  }
};

}  // namespace

model::Change batch_of(const model::LoaderFacts& loader, std::int64_t size) {
  return {"batch_size", {{"batch_size", size}, {"loaders", std::vector<std::int64_t>{loader.ordinal}}}};
}

const Technique& effective_batch() {
  static const EffectiveBatch kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
