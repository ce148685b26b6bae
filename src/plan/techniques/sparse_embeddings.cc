// Embeddings whose gradients hold the rows that a batch used, instead of all. Adam's moments stay as large as the
// weights: SparseAdam makes them whole, too.
#include <fmt/format.h>

#include <algorithm>

#include "plan/evaluation.h"
#include "plan/techniques/another_network.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

constexpr double kLeastOfGradients = 0.1;  // an embedding that is less of them is not worth another way of training
constexpr double kSparseCopies = 2;        // of the rows that were used: as they come, and with each row once

Bytes gradients_then(const model::SparseEmbeddings& embeddings) {
  return std::min(embeddings.weights, scaled(embeddings.touched, kSparseCopies));
}

class SparseEmbeddings final : public Technique {
 public:
  std::string_view id() const override { return "sparse_embeddings"; }
  ActsIn acts_in() const override { return ActsIn::kTraining; }
  // Both decide which optimizer a weight has.
  std::string_view slot() const override { return optimizer().slot(); }

  Applicability applies_to(const model::Job& job, const Target&) const override {
    if (!job.sparse_embeddings) return not_possible("no optimizer was seen to train embeddings");
    const model::SparseEmbeddings& embeddings = *job.sparse_embeddings;
    if (!embeddings.why_not.empty()) return not_possible(embeddings.why_not);
    const double part = share_of(embeddings.weights, most_gradients(job.stage_peaks));
    if (part < kLeastOfGradients) {
      return not_possible(fmt::format("gradients of embeddings are {:.0f} % of all gradients", 100 * part));
    }
    if (gradients_then(embeddings) >= embeddings.weights) {
      return not_possible("a step uses as many rows of the embeddings as they have");
    }
    return applicable();
  }

  std::vector<model::Change> options(const model::Job& job, const Target&) const override {
    model::Change change{std::string(id()), {}};
    if (!job.sparse_embeddings->same) change.settings.emplace("optimizer", std::string("SparseAdam"));
    return {std::move(change)};
  }

  std::optional<model::Change> find_measurable(const model::Job& job, const Target& target) const override {
    return options(job, target).front();
  }

  void predict(const model::Job& job, const Target&, const model::Change& change, Forecast& forecast) const override {
    const auto measured = job.measured.find(measured_key(change));
    const bool was_run = measured != job.measured.end();
    for (model::StagePeak& moment : forecast.stage_peaks) {
      const HoldingShares shares = measured_shares(job, id(), moment, {});
      moment.holdings.temporaries = scaled(moment.holdings.temporaries, shares.temporaries);
    }
    const Bytes now = most_gradients(job.stage_peaks);
    const Bytes spared = job.sparse_embeddings->weights - gradients_then(*job.sparse_embeddings);
    const Bytes then = was_run ? most_gradients(measured->second) : now - std::min(now, spared);
    forecast.gradient_share *= std::min(1.0, share_of(then, now));
    if (was_run) forecast.measured_with = measured->first;
    forecast.uncertainty = std::max(forecast.uncertainty, was_run ? 0.04 : 0.1);
    if (!change.settings.contains("optimizer")) {
      worsen(forecast, Effect::kRounding, "gradients of embeddings are added up in another order");
      return;
    }
    worsen(
        forecast, Effect::kOptimizer,
        fmt::format("embeddings ({}) are trained by SparseAdam: rows that a batch does not use keep their moments and "
                    "stand still, and weight decay does not reach them",
                    job.sparse_embeddings->layers));
  }

  std::string describe(const model::Change& change) const override {
    return change.settings.contains("optimizer") ? "sparse gradients of embeddings, SparseAdam"
                                                 : "sparse gradients of embeddings";
  }
};

}  // namespace

const Technique& sparse_embeddings() {
  static const SparseEmbeddings kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
