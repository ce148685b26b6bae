// Mixed precision: matmuls and convolutions in half precision, weights and optimizer state still fp32.
//
// How much of the activations shrinks depends on the network: normalisation, softmax and losses stay fp32 or are cast
// back to it (torch.amp's lists of operators), and autocast keeps a half copy of every weight it has cast until
// backward has passed. So it is measured, by one run under autocast with memory to spare. The shares below are for jobs
// without that run: the middle of what convolutional networks and transformers show.
#include <fmt/format.h>

#include <algorithm>

#include "devices/time_model.h"
#include "model/number_text.h"
#include "plan/evaluation.h"
#include "plan/measured_shares.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

constexpr double kActivationShare = 0.65;
constexpr double kHalfCopies = 0.5;  // of the weights' bytes
constexpr double kCastLaunches = 1.15;

bool is_turing_without_tensor_cores(const model::Card& card) {
  return card.capability == model::ComputeCapability{7, 5} && !card.rates.fp16_tensor;
}

class Autocast final : public Technique {
 public:
  std::string_view id() const override { return "autocast"; }
  ActsIn acts_in() const override { return ActsIn::kTraining; }

  Applicability applies_to(const model::Job& job, const Target& target) const override {
    if (!trains(job)) return not_possible("the script does not train: half_evaluation is what evaluations have");
    if (job.precision.autocast) return in_force("the script already runs under autocast " + *job.precision.autocast);
    if (target.card.capability < model::ComputeCapability{5, 3}) {
      return not_possible("the card has no half-precision arithmetic");
    }
    const double half = job.work.macs[static_cast<std::size_t>(model::Number::kF16)] +
                        job.work.macs[static_cast<std::size_t>(model::Number::kBf16)];
    if (half > 0.5 * total_macs(job.work)) return in_force("the model already computes in half precision");
    return applicable();
  }

  std::vector<model::Change> options(const model::Job&, const Target& target) const override {
    const bool bf16 = target.card.capability >= kFirstWithBf16;
    return {{std::string(id()), {{"dtype", std::string(bf16 ? "bfloat16" : "float16")}, {"scaler", !bf16}}}};
  }

  std::optional<model::Change> find_measurable(const model::Job& job, const Target& target) const override {
    return options(job, target).front();
  }

  void predict(const model::Job& job, const Target& target, const model::Change& change,
               Forecast& forecast) const override {
    const auto measured = job.measured.find(std::string(id()));
    for (model::StagePeak& moment : forecast.stage_peaks) {
      const Shares shares = measured == job.measured.end() ? assume(moment) : compare(job, measured->second, moment);
      moment.holdings.activations = scaled(moment.holdings.activations, shares.activations);
      moment.holdings.temporaries = scaled(moment.holdings.temporaries, shares.temporaries);
      moment.holdings.weights += shares.half_copies;
      if (measured == job.measured.end()) scale_gathered_graphs(job, shares.activations, moment.holdings);
      if (moment.phase == model::phase::kTrain && moment.stage == model::stage::kForward)
        forecast.activation_scale *= shares.activations;
    }
    if (measured != job.measured.end()) forecast.measured_with = id();
    forecast.uncertainty = std::max(forecast.uncertainty, measured == job.measured.end() ? 0.2 : 0.04);
    const bool bf16 = model::find_text(change, "dtype") == "bfloat16";
    halve_work(bf16 ? model::Number::kBf16 : model::Number::kF16, forecast.work);
    worsen(forecast, Effect::kPrecision, explain(target, bf16));
  }

  std::string describe(const model::Change& change) const override {
    return model::find_text(change, "dtype") == "bfloat16" ? "bf16 autocast" : "fp16 autocast + GradScaler";
  }

 private:
  // What becomes of one moment's holdings.
  struct Shares {
    double activations = 1, temporaries = 1;
    Bytes half_copies;  // of the weights
  };

  // Forwards of evaluations are under it too (python/vramfit/apply/autocast.py).
  static Shares assume(const model::StagePeak& moment) {
    const bool is_of_forward = holds_graph(moment) || (is_evaluation(moment) && moment.stage == model::stage::kForward);
    if (!is_of_forward) return {};
    return {kActivationShare, kActivationShare, scaled(moment.holdings.weights, kHalfCopies)};
  }

  // The recorder counts half copies of weights among the activations; they do not shrink with the batch.
  static Shares compare(const model::Job& job, const std::vector<model::StagePeak>& measured,
                        const model::StagePeak& moment) {
    const model::StagePeak* before = find_same_stage(job.stage_peaks, moment);
    const model::StagePeak* after = find_same_stage(measured, moment);
    if (before == nullptr || after == nullptr) return {};
    Shares shares;
    Bytes activations = after->holdings.activations;
    if (holds_graph(moment)) {
      shares.half_copies = std::min(scaled(job.parameter_bytes, kHalfCopies), activations);
      activations -= shares.half_copies;
    }
    shares.activations = share_of(activations, before->holdings.activations);
    shares.temporaries = share_of(after->holdings.temporaries, before->holdings.temporaries);
    return shares;
  }

  static void halve_work(model::Number half, model::StepWork& work) {
    halve_matmuls(half, work);
    work.matmul_bytes *= 0.5;
    work.other_bytes *= kActivationShare;
    work.narrower *= kActivationShare;
    work.launches *= kCastLaunches;
  }

  static std::string explain(const Target& target, bool bf16) {
    std::string text = bf16 ? "matmuls and convolutions round to bf16; weights stay fp32"
                            : "matmuls and convolutions round to fp16 under a GradScaler; weights stay fp32";
    if (!devices::speeds_up_half_precision(target.card, bf16 ? model::Number::kBf16 : model::Number::kF16)) {
      text += "; on this card it saves memory and hardly any time";
    }
    // Reported by many users of GTX 1650 and 1660 (ultralytics disables AMP where its start-up check sees it).
    if (!bf16 && is_turing_without_tensor_cores(target.card)) {
      text += "; fp16 convolutions gave NaN on some GTX 16 cards: watch the first losses";
    }
    return text;
  }
};

}  // namespace

const Technique& autocast() {
  static const Autocast kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
