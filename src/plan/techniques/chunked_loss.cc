// Cross entropy in chunks of rows: log-softmax over a large vocabulary, and its gradient, never lie on the card whole;
// with the last layer, the logits and theirs neither.
#include <fmt/format.h>

#include <algorithm>

#include "plan/measured_shares.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

// Logits that are less than this share of the card are not what it lacks.
constexpr double kWorthChunks = 0.02;
// How many copies the loss holds beside the logits and their gradient, if no run showed it: log-softmax and its
// gradient.
constexpr double kCopiesSaved = 2;
constexpr double kCopiesSavedWithLayer = 3;  // the logits too; their gradient comes when log-softmax has gone
constexpr double kCopiesOfChunk = 3;         // in its backward: log-softmax, that one's gradient, that of the logits

// The bytes of logits in float32 that python/vramfit/apply/chunked_loss.py has in a chunk.
constexpr Bytes kChunk = Bytes::mib(32), kChunkWithLayer = Bytes::mib(128);

bool takes_layer(const model::Change& change) { return change.settings.contains("linear"); }

class ChunkedLoss final : public Technique {
 public:
  std::string_view id() const override { return "chunked_loss"; }
  ActsIn acts_in() const override { return ActsIn::kTraining; }

  Applicability applies_to(const model::Job& job, const Target& target) const override {
    if (!job.wide_loss) return not_possible("no cross entropy over many rows and classes was seen");
    if (job.wide_loss->bytes < scaled(target.limit, kWorthChunks)) {
      return not_possible(fmt::format("the logits of its cross entropy are {} alone", to_string(job.wide_loss->bytes)));
    }
    if (job.wide_loss->is_log && job.wide_loss->features <= 0) {
      return not_possible("its loss takes log-probabilities that no linear layer put out");
    }
    return applicable();
  }

  std::vector<model::Change> options(const model::Job& job, const Target&) const override {
    std::vector<model::Change> changes;
    if (!job.wide_loss->is_log) changes.push_back({std::string(id()), {}});
    if (job.wide_loss->features > 0) changes.push_back({std::string(id()), {{"linear", job.wide_loss->classes}}});
    return changes;
  }

  // Each has a run of its own: with its layer, what is left are chunks of a size that the job does not tell.
  std::vector<model::Change> find_all_measurable(const model::Job& job, const Target& target) const override {
    return options(job, target);
  }

  void predict(const model::Job& job, const Target&, const model::Change& change, Forecast& forecast) const override {
    const auto measured = job.measured.find(measured_key(change));
    for (model::StagePeak& moment : forecast.stage_peaks) {
      if (!holds_graph(moment)) continue;
      const model::StagePeak* before = find_same_stage(job.stage_peaks, moment);
      if (before == nullptr) continue;
      const model::StagePeak* after =
          measured == job.measured.end() ? nullptr : find_same_stage(measured->second, moment);
      const model::Holdings with =
          after != nullptr ? after->holdings : assume(*job.wide_loss, change, before->holdings);
      model::Holdings& holdings = moment.holdings;
      holdings.activations = scaled(holdings.activations, share_of(with.activations, before->holdings.activations));
      holdings.temporaries = scaled(holdings.temporaries, share_of(with.temporaries, before->holdings.temporaries));
    }
    forecast.chunks_loss = true;
    forecast.loss_chunk = takes_layer(change) ? kChunkWithLayer : kChunk;
    if (measured != job.measured.end()) forecast.measured_with = measured->first;
    if (takes_layer(change)) run_layer_again(*job.wide_loss, forecast.work);
    forecast.uncertainty = std::max(forecast.uncertainty, measured == job.measured.end() ? 0.2 : 0.04);
    worsen(forecast, Effect::kRounding,
           fmt::format("the loss over {} classes is worked out in chunks of rows; its terms are added up in another "
                       "order",
                       job.wide_loss->classes));
  }

  std::string describe(const model::Change& change) const override {
    return takes_layer(change) ? "last layer and loss in chunks" : "cross entropy in chunks";
  }

 private:
  static void run_layer_again(const model::WideLoss& loss, model::StepWork& work) {
    const double macs =
        static_cast<double>(loss.rows) * static_cast<double>(loss.classes) * static_cast<double>(loss.features);
    *std::ranges::max_element(work.macs) += macs;  // in what the job mostly computes in
    work.recomputed_macs += macs;
  }

  // With its layer each chunk has a gradient of the layer's weight beside the one that they are added up in.
  static Bytes held_by_chunk(const model::WideLoss& loss, const model::Change& change) {
    const Bytes chunks = scaled(std::min(loss.bytes, takes_layer(change) ? kChunkWithLayer : kChunk), kCopiesOfChunk);
    if (!takes_layer(change)) return chunks;
    const auto of_weight =
        static_cast<double>(loss.features) / static_cast<double>(std::max<std::int64_t>(loss.rows, 1));
    return chunks + scaled(loss.bytes, of_weight);
  }

  static model::Holdings assume(const model::WideLoss& loss, const model::Change& change, model::Holdings holdings) {
    const Bytes saved = std::max(
        scaled(loss.bytes, takes_layer(change) ? kCopiesSavedWithLayer : kCopiesSaved) - held_by_chunk(loss, change),
        Bytes(0));
    const Bytes of_temporaries = std::min(saved, holdings.temporaries);
    holdings.temporaries -= of_temporaries;
    holdings.activations = std::max(holdings.activations - (saved - of_temporaries), Bytes(0));
    return holdings;
  }
};

}  // namespace

const Technique& chunked_loss() {
  static const ChunkedLoss kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
