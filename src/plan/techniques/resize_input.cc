// Smaller inputs: images scaled, token sequences cut. The network sees something else, so it is ranked last.
#include <fmt/format.h>

#include <algorithm>

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
    for (const std::string_view phase : {"train", "validate", "test"}) scale_batch(forecast, phase, share);
    scale_work(forecast.work, share);
    forecast.uncertainty = std::max(forecast.uncertainty, 0.1);
    worsen(forecast, Effect::kInput, fmt::format("inputs at {:.0f} % of their size: accuracy changes", scale * 100));
  }

  std::string describe(const model::Change& change) const override {
    return fmt::format("inputs x {:g}", model::find_number(change, "scale").value_or(1));
  }
};

}  // namespace

const Technique& resize_input() {
  static const ResizeInput kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
