// Smaller inputs: images scaled, token sequences cut. The network sees something else, so it is ranked last.
#include <fmt/format.h>

#include <algorithm>

#include "plan/measured_shares.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

// The first tensor of a batch decides: N x C x H x W is an image, N x L a token sequence.
enum class InputKind { kUnknown, kImage, kSequence };

InputKind kind_of_input(const model::Job& job) {
  const model::LoaderFacts* loader = model::find_loader(job, "train");
  if (loader == nullptr || loader->shapes.empty()) return InputKind::kUnknown;
  const std::size_t dimensions = loader->shapes[0].size();
  if (dimensions == 4) return InputKind::kImage;
  return dimensions == 2 ? InputKind::kSequence : InputKind::kUnknown;
}

constexpr double kMeasuredScale = 0.5;

// What is left at `scale` of what shrinks with the inputs, from what a run at half of it showed (`half`): a part that
// stays, one that goes with the length, one with its square. Images go with the area; sequences with the length where
// attention is fused, and partly with its square where scores lie in memory.
double share_at(double scale, double half, InputKind kind) {
  half = std::clamp(half, 0.0, 1.0);
  if (kind == InputKind::kImage || half < kMeasuredScale) {
    if (kind == InputKind::kImage) return 1 - (1 - half) * (1 - scale * scale) / (1 - kMeasuredScale * kMeasuredScale);
    const double square = std::min(2 - 4 * half, 1.0);
    return (1 - square) * scale + square * scale * scale;
  }
  return 1 - (1 - half) * (1 - scale) / (1 - kMeasuredScale);
}

class ResizeInput final : public Technique {
 public:
  std::string_view id() const override { return "resize"; }

  Applicability applies_to(const model::Job& job, const Target&) const override {
    if (kind_of_input(job) == InputKind::kUnknown) return not_possible("the inputs are neither images nor sequences");
    return applicable();
  }

  std::vector<model::Change> options(const model::Job&, const Target&) const override {
    return {{"resize_input", {{"scale", 0.75}}}, {"resize_input", {{"scale", 0.5}}}};
  }

  void predict(const model::Job& job, const Target&, const model::Change& change, Forecast& forecast) const override {
    const double scale = model::find_number(change, "scale").value_or(1);
    // Sequences at least linearly: unfused attention would shrink with the square.
    const double share = kind_of_input(job) == InputKind::kImage ? scale * scale : scale;
    const auto measured = job.measured.find(measured_key(change));
    if (measured == job.measured.end()) {
      for (const std::string_view phase : {"train", "validate", "test"}) scale_batch(forecast, phase, share);
    } else {
      scale_as_measured(job, measured->second, scale, forecast);
      if (scale == kMeasuredScale) forecast.measured_with = measured->first;
    }
    scale_work(forecast.work, share);
    forecast.uncertainty = std::max(forecast.uncertainty, measured == job.measured.end() ? 0.1 : 0.05);
    worsen(forecast, Effect::kInput, fmt::format("inputs at {:.0f} % of their size: accuracy changes", scale * 100));
  }

  // Measured at half of each side, or of the length: other scales lie between that and the whole.
  std::optional<model::Change> find_measurable(const model::Job&, const Target&) const override {
    return model::Change{"resize_input", {{"scale", kMeasuredScale}}};
  }

  std::string describe(const model::Change& change) const override {
    return fmt::format("inputs x {:g}", model::find_number(change, "scale").value_or(1));
  }

 private:
  static void scale_as_measured(const model::Job& job, const std::vector<model::StagePeak>& measured, double scale,
                                Forecast& forecast) {
    const InputKind kind = kind_of_input(job);
    double activations = 1;  // of the fullest moment of training
    Bytes most;
    for (model::StagePeak& moment : forecast.stage_peaks) {
      const model::StagePeak* before = find_same_stage(job.stage_peaks, moment);
      const model::StagePeak* after = find_same_stage(measured, moment);
      if (before == nullptr || after == nullptr || moment.phase == "load") continue;
      const auto share = [&](Bytes model::Holdings::*field) {
        return share_at(scale, share_of(after->holdings.*field, before->holdings.*field), kind);
      };
      for (auto field : {&model::Holdings::inputs, &model::Holdings::activations, &model::Holdings::workspaces,
                         &model::Holdings::temporaries, &model::Holdings::gathered}) {
        moment.holdings.*field = scaled(moment.holdings.*field, share(field));
      }
      if (!holds_graph(*before) || before->holdings.activations <= most) continue;
      most = before->holdings.activations;
      activations = share(&model::Holdings::activations);
    }
    forecast.activation_scale *= activations;
  }
};

}  // namespace

const Technique& resize_input() {
  static const ResizeInput kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
