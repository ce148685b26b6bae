// LoRA: the weights of linear layers stand still, and two thin matrices beside each are trained (arXiv 2106.09685).
// Gradients and the optimizer's state are of these alone; what stands still can be held in half the bytes, and beside
// adapters in 4 bits (as QLoRA, arXiv 2305.14314).
//
// A layer's input is kept for its adapter's gradient instead of for its weight's; what was kept for the gradients of
// norms and embeddings goes. How much that is, a run with adapters shows.
#include <fmt/format.h>

#include <algorithm>

#include "model/number_text.h"
#include "plan/measured_shares.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

constexpr std::int64_t kRank = 8;       // observe/linear_layers.py counted by it
constexpr double kLeastInLayers = 0.3;  // of what is trained: a network whose weights are elsewhere keeps most of them
constexpr double kGradientOfWeight = 1.0 / 3;  // of a linear layer's products in a step
constexpr double kLaunchesOfLayer = 12;        // two thin products forward, four backward, and their casts
constexpr std::int64_t kFloat = 4, kHalf = 2;
constexpr double kGroup = 64;                // numbers in 4 bits that share a scale (apply/int4_weights.py)
constexpr double kLaunchesOfUnpacking = 12;  // two nibbles, a sum and a product, forward and backward
constexpr double kPassesOfUnpacking = 8;     // over a layer's numbers, in the type that it computes in

std::int64_t trained_then(const model::LinearLayers& layers) { return kRank * layers.width + layers.whole; }

bool holds_fewer_bits(const model::Change& change) { return change.settings.contains("weights"); }
bool holds_4_bits(const model::Change& change) { return model::find_text(change, "weights") == "int4"; }

model::Change with_weights_in(std::string_view type) {
  return {"lora", {{"rank", kRank}, {"weights", std::string(type)}}};
}

double part_of(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

class Lora final : public Technique {
 public:
  std::string_view id() const override { return "lora"; }
  ActsIn acts_in() const override { return ActsIn::kTraining; }

  Applicability applies_to(const model::Job& job, const Target&) const override {
    if (!job.linear_layers || job.linear_layers->trained <= 0) {
      return not_possible("no optimizer was seen to train a network");
    }
    const model::LinearLayers& layers = *job.linear_layers;
    const double still = part_of(layers.frozen, layers.trained + layers.frozen);
    if (still > 0.5) return in_force(fmt::format("{:.1f} % of the network's weights stand still already", 100 * still));
    if (!layers.loaded) {
      return not_possible("no weights were loaded: adapters are for a network that has learnt before");
    }
    const double in_layers = part_of(layers.adapted, layers.trained);
    if (in_layers < kLeastInLayers) {
      return not_possible(fmt::format("{:.0f} % of what it trains is in linear layers that adapters are smaller than",
                                      100 * in_layers));
    }
    return applicable();
  }

  std::vector<model::Change> options(const model::Job& job, const Target&) const override {
    std::vector<model::Change> changes{{std::string(id()), {{"rank", kRank}}}};
    if (job.linear_layers->halved > 0) changes.push_back(with_weights_in("bfloat16"));
    changes.push_back(with_weights_in("int4"));
    return changes;
  }

  // The type in which the frozen weights are held decides what is kept beside them, too.
  std::vector<model::Change> find_all_measurable(const model::Job& job, const Target& target) const override {
    return options(job, target);
  }

  void predict(const model::Job& job, const Target&, const model::Change& change, Forecast& forecast) const override {
    const model::LinearLayers& layers = *job.linear_layers;
    const double share = std::min(1.0, part_of(trained_then(layers), layers.trained));
    const auto measured = job.measured.find(measured_key(change));
    for (model::StagePeak& moment : forecast.stage_peaks) {
      model::Holdings& holdings = moment.holdings;
      if (measured != job.measured.end())
        holdings.activations = scaled(holdings.activations, kept(job, measured->second, moment));
      holdings.optimizer = scaled(holdings.optimizer, share);
      if (moment.stage == model::stage::kOptimizer) holdings.temporaries = scaled(holdings.temporaries, share);
    }
    forecast.gradient_share *= share;
    forecast.later_weights *= share_of_weights(job, change);
    predict_work(layers, change, forecast.work);
    if (measured != job.measured.end()) forecast.measured_with = measured->first;
    forecast.uncertainty = std::max(forecast.uncertainty, 0.05);
    worsen(forecast, Effect::kOptimizer, explain(layers, change, share));
  }

  std::string describe(const model::Change& change) const override {
    const std::string rank = fmt::format("LoRA of rank {}", model::find_integer(change, "rank").value_or(kRank));
    if (!holds_fewer_bits(change)) return rank;
    return rank + (holds_4_bits(change) ? ", frozen weights in 4 bits" : ", frozen weights in bf16");
  }

 private:
  // The share of the activations that a moment keeps, by the run with adapters.
  static double kept(const model::Job& job, const std::vector<model::StagePeak>& measured,
                     const model::StagePeak& moment) {
    const model::StagePeak* before = find_same_stage(job.stage_peaks, moment);
    const model::StagePeak* after = find_same_stage(measured, moment);
    if (before == nullptr || after == nullptr) return 1;
    return share_of(after->holdings.activations, before->holdings.activations);
  }

  static double share_of_weights(const model::Job& job, const model::Change& change) {
    const model::LinearLayers& layers = *job.linear_layers;
    if (job.parameter_bytes <= Bytes()) return 1;
    const auto added = static_cast<double>(kRank * layers.width * kFloat);
    return 1 + (added - bytes_saved(layers, change)) / static_cast<double>(job.parameter_bytes.count());
  }

  static double bytes_saved(const model::LinearLayers& layers, const model::Change& change) {
    if (!holds_fewer_bits(change)) return 0;
    const auto halved = static_cast<double>(layers.halved), adapted = static_cast<double>(layers.adapted);
    if (!holds_4_bits(change)) return halved * (kFloat - kHalf);
    const double each = layers.halved > 0 ? kFloat : kHalf;  // half already where nothing can be halved
    return adapted * (each - each / kGroup - 0.5) + std::max(0.0, halved - adapted) * (kFloat - kHalf);
  }

  static void predict_work(const model::LinearLayers& layers, const model::Change& change, model::StepWork& work) {
    const double gone = kGradientOfWeight * part_of(layers.adapted, layers.trained);
    for (double& macs : work.macs) macs *= 1 - gone;
    work.launches += kLaunchesOfLayer * static_cast<double>(layers.layers);
    if (!holds_4_bits(change)) return;
    work.launches += kLaunchesOfUnpacking * static_cast<double>(layers.layers);
    work.other_bytes += 2 * kPassesOfUnpacking * kHalf * static_cast<double>(layers.adapted);
  }

  static std::string explain(const model::LinearLayers& layers, const model::Change& change, double share) {
    std::string text = fmt::format(
        "{:.2f} % of the numbers are trained: adapters in {} linear layers; all other weights stand still, so learning "
        "rate "
        "and schedule have to be found again",
        100 * share, layers.layers);
    if (holds_4_bits(change)) {
      text += "; beside adapters they are rounded to 4 bits with a scale for each 64, and made again for each product";
    } else if (holds_fewer_bits(change)) {
      text += "; those weights are rounded to bf16";
    }
    return text +
           "; a checkpoint holds plain weights with the adapters added in, and training that is resumed begins new "
           "ones";
  }
};

}  // namespace

const Technique& lora() {
  static const Lora kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
