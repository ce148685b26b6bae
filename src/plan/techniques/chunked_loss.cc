// Cross entropy in chunks of rows: log-softmax over a large vocabulary, and its gradient, never lie on the card whole.
#include <fmt/format.h>

#include <algorithm>

#include "plan/measured_shares.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

// Logits that are less than this share of the card are not what it lacks.
constexpr double kWorthChunks = 0.02;
// Of what the loss holds beside the logits and their gradient, without a run that shows it: log-softmax, and its
// gradient.
constexpr double kCopiesSaved = 2;

class ChunkedLoss final : public Technique {
 public:
  std::string_view id() const override { return "chunked_loss"; }

  Applicability applies_to(const model::Job& job, const Target& target) const override {
    if (!job.wide_loss) return not_possible("no cross entropy over many rows and classes was seen");
    if (job.wide_loss->bytes < scaled(target.limit, kWorthChunks)) {
      return not_possible(fmt::format("the logits of its cross entropy are {} alone", to_string(job.wide_loss->bytes)));
    }
    return applicable();
  }

  std::vector<model::Change> options(const model::Job&, const Target&) const override {
    return {{std::string(id()), {}}};
  }

  std::optional<model::Change> find_measurable(const model::Job& job, const Target& target) const override {
    return options(job, target).front();
  }

  void predict(const model::Job& job, const Target&, const model::Change&, Forecast& forecast) const override {
    const auto measured = job.measured.find(std::string(id()));
    for (model::StagePeak& moment : forecast.stage_peaks) {
      if (!holds_graph(moment)) continue;
      const model::StagePeak* before = find_same_moment(job.stage_peaks, moment);
      if (before == nullptr) continue;
      const model::StagePeak* after =
          measured == job.measured.end() ? nullptr : find_same_moment(measured->second, moment);
      const model::Holdings with = after != nullptr ? after->holdings : assume(*job.wide_loss, before->holdings);
      model::Holdings& held = moment.holdings;
      held.activations = scaled(held.activations, share_of(with.activations, before->holdings.activations));
      held.temporaries = scaled(held.temporaries, share_of(with.temporaries, before->holdings.temporaries));
    }
    forecast.uncertainty = std::max(forecast.uncertainty, measured == job.measured.end() ? 0.2 : 0.04);
    worsen(forecast, Effect::kRounding,
           fmt::format("the loss over {} classes is worked out in chunks of rows; its terms are added up in another "
                       "order",
                       job.wide_loss->classes));
  }

  std::string describe(const model::Change&) const override { return "cross entropy in chunks"; }

 private:
  static model::Holdings assume(const model::WideLoss& loss, model::Holdings held) {
    const Bytes saved = scaled(loss.bytes, kCopiesSaved);
    const Bytes of_temporaries = std::min(saved, held.temporaries);
    held.temporaries -= of_temporaries;
    held.activations = std::max(held.activations - (saved - of_temporaries), Bytes(0));
    return held;
  }
};

}  // namespace

const Technique& chunked_loss() {
  static const ChunkedLoss kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
