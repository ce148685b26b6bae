// Mixed precision: matmuls and convolutions in half precision, weights and optimizer state still fp32.
//
// Activations come out at about 0.65 of their size rather than 0.5, because normalisation statistics, softmax and
// losses stay fp32; and autocast keeps a half copy of every weight it has cast until the end of the step.
#include <fmt/format.h>

#include <algorithm>

#include "devices/time_model.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

constexpr double kActivationShare = 0.65;
constexpr double kHalfCopies = 0.5;      // of the weights' bytes
constexpr double kMatmulsInHalf = 0.95;  // of the multiply-adds
constexpr double kCastLaunches = 1.15;
constexpr model::ComputeCapability kFirstWithBf16 = {8, 0};

bool is_turing_without_tensor_cores(const model::Card& card) {
  return card.capability == model::ComputeCapability{7, 5} && !card.rates.fp16_tensor;
}

class Autocast final : public Technique {
 public:
  std::string_view id() const override { return "autocast"; }

  Applicability applies_to(const model::Job& job, const Target& target) const override {
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

  void predict(const model::Job&, const Target& target, const model::Change& change,
               Forecast& forecast) const override {
    for (model::Moment& moment : forecast.moments) {
      if (!holds_graph(moment)) continue;
      moment.holdings.activations = scaled(moment.holdings.activations, kActivationShare);
      moment.holdings.temporaries = scaled(moment.holdings.temporaries, kActivationShare);
      moment.holdings.weights += scaled(moment.holdings.weights, kHalfCopies);
    }
    forecast.activation_scale *= kActivationShare;
    forecast.uncertainty = std::max(forecast.uncertainty, 0.2);
    const bool bf16 = model::find_text(change, "dtype") == "bfloat16";
    halve_work(bf16 ? model::Number::kBf16 : model::Number::kF16, forecast.work);
    worsen(forecast, Effect::kRounding, explain(target, bf16));
  }

  std::string describe(const model::Change& change) const override {
    return model::find_text(change, "dtype") == "bfloat16" ? "bf16 autocast" : "fp16 autocast + GradScaler";
  }

 private:
  static void halve_work(model::Number half, model::StepWork& work) {
    for (const auto from : {model::Number::kF32, model::Number::kTf32}) {
      double& macs = work.macs[static_cast<std::size_t>(from)];
      work.macs[static_cast<std::size_t>(half)] += macs * kMatmulsInHalf;
      macs *= 1 - kMatmulsInHalf;
    }
    work.matmul_bytes *= 0.5;
    work.other_bytes *= kActivationShare;
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
