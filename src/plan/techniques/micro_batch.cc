// Fewer samples at once, the same number per optimizer step: gradients of k micro-batches are summed before each step.
//
// Activations and inputs shrink with the micro-batch; weights, optimizer state and gradients do not, and gradients now
// stay alive through every forward but the first. So it never frees "1/k of all memory".
#include <fmt/format.h>

#include <algorithm>

#include "model/number_text.h"
#include "plan/techniques/parts_of_batch.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

class MicroBatch final : public Technique {
 public:
  std::string_view id() const override { return "micro_batch"; }
  ActsIn acts_in() const override { return ActsIn::kTraining; }

  Applicability applies_to(const model::Job& job, const Target&) const override {
    const model::LoaderFacts* loader = model::find_loader(job, model::phase::kTrain);
    if (loader == nullptr) return not_possible("no training DataLoader was seen: the script makes its batches itself");
    if (loader->batch_size <= 0) return not_possible("the training DataLoader has no fixed batch size");
    if (loader->batch_size == 1) return in_force("the training batch is 1 already");
    return applicable();
  }

  std::vector<model::Change> options(const model::Job& job, const Target&) const override {
    const model::LoaderFacts& loader = *model::find_loader(job, model::phase::kTrain);
    std::vector<model::Change> changes;
    // Batch normalisation over one sample is refused by PyTorch where a map is one pixel, and learns little elsewhere.
    const std::int64_t least = job.has_batch_norm && smallest_factor(loader.batch_size) < loader.batch_size ? 2 : 1;
    for (std::int64_t count = 2; count * least <= loader.batch_size; ++count) {
      if (loader.batch_size % count != 0) continue;
      changes.push_back({std::string(id()),
                         {{"micro_batch", loader.batch_size / count},
                          {"accumulate", count},
                          {"loaders", std::vector<std::int64_t>{loader.ordinal}}}});
    }
    return changes;
  }

  void predict(const model::Job& job, const Target&, const model::Change& change, Forecast& forecast) const override {
    const auto count = static_cast<double>(model::find_integer(change, "accumulate").value_or(1));
    split_batch(job, count, forecast);
    forecast.uncertainty = std::max(forecast.uncertainty, 0.05);
    if (job.has_batch_norm) {
      worsen(forecast, Effect::kStatistics,
             fmt::format("batch normalisation sees {} samples at once instead of {}",
                         model::find_integer(change, "micro_batch").value_or(0),
                         model::find_loader(job, model::phase::kTrain)->batch_size));
    }
    worsen(forecast, Effect::kSame,
           fmt::format(
               "in a loop of the script's own, what it prints or adds up (a running loss) has {} terms for each batch",
               count));
  }

  std::string describe(const model::Change& change) const override {
    return fmt::format("micro-batch {} x {}", model::find_integer(change, "micro_batch").value_or(0),
                       model::find_integer(change, "accumulate").value_or(0));
  }

 private:
  static std::int64_t smallest_factor(std::int64_t number) {
    for (std::int64_t factor = 2; factor * factor <= number; ++factor) {
      if (number % factor == 0) return factor;
    }
    return number;
  }
};

}  // namespace

const Technique& micro_batch() {
  static const MicroBatch kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
