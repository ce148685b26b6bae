// The network works on a batch in parts, each of which runs again in backward; the loop around it sees whole batches.
//
// What micro-batches do to activations, where a loop can't be given parts of a batch: one that counts steps by itself,
// takes its batches from no loader, steps several optimizers in turn, or has a loss over the pairs of a batch. It costs
// a forward more, and what the network gets and gives stays whole.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "model/number_text.h"
#include "plan/measured_shares.h"
#include "plan/techniques/parts_of_batch.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

// How many parts are tried: each has half of the activations of the one before.
constexpr std::int64_t kMostParts = 16;

class SplitForward final : public Technique {
 public:
  std::string_view id() const override { return "split_forward"; }
  ActsIn acts_in() const override { return ActsIn::kTraining; }
  // The same batches in parts, one way or the other.
  std::string_view slot() const override { return micro_batch().slot(); }

  Applicability applies_to(const model::Job& job, const Target&) const override {
    if (job.precision.compiled) return not_possible("the model is compiled: for the sizes of whole batches");
    if (!job.optimizer) return not_possible("no optimizer of torch.optim was seen");
    const model::LoaderFacts* loader = model::find_loader(job, model::phase::kTrain);
    if (loader != nullptr && loader->batch_size == 1) return in_force("the training batch is 1 already");
    return applicable();
  }

  std::vector<model::Change> options(const model::Job& job, const Target&) const override {
    const model::LoaderFacts* loader = model::find_loader(job, model::phase::kTrain);
    // The size of a batch is not known if the script makes it itself: the job says what it can't split.
    const std::int64_t batch = loader != nullptr && loader->batch_size > 0 ? loader->batch_size : kMostParts;
    const std::int64_t least = job.has_batch_norm ? 2 : 1;  // samples: see micro_batch.cc
    std::vector<model::Change> changes;
    for (std::int64_t parts = 2; parts <= kMostParts && parts * least <= batch; parts *= 2) {
      changes.push_back({std::string(id()), {{"parts", parts}}});
    }
    return changes;
  }

  // What the network puts out and what a loss makes of it stay whole, which nothing tells but a run.
  std::vector<model::Change> find_all_measurable(const model::Job& job, const Target& target) const override {
    return options(job, target);
  }
  bool is_foretold_unmeasured() const override { return true; }

  void predict(const model::Job& job, const Target&, const model::Change& change, Forecast& forecast) const override {
    const auto parts = static_cast<double>(model::find_integer(change, "parts").value_or(1));
    std::vector<Bytes> inputs;  // they stay whole
    for (const model::StagePeak& moment : forecast.stage_peaks) inputs.push_back(moment.holdings.inputs);
    repeat_forward(1, 1, forecast);
    split_batch(job, parts, forecast);
    // An evaluation that calls the network as its training does works in parts too.
    for (const std::string_view phase : {model::phase::kValidate, model::phase::kTest}) {
      scale_batch(forecast, phase, 1 / parts);
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) forecast.stage_peaks[i].holdings.inputs = inputs[i];
    forecast.splits_within = true;
    if (const auto measured = job.measured.find(measured_key(change)); measured != job.measured.end()) {
      forecast.measured_with = measured->first;
    }
    forecast.uncertainty = std::max(forecast.uncertainty, 0.1);
    if (job.has_batch_norm) {
      worsen(forecast, Effect::kStatistics,
             fmt::format("batch normalisation sees a batch in {} parts, one after the other", parts));
    }
  }

  std::string describe(const model::Change& change) const override {
    return fmt::format("network in {} parts of a batch", model::find_integer(change, "parts").value_or(0));
  }
};

}  // namespace

const Technique& split_forward() {
  static const SplitForward kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
