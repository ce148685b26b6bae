// Smaller inputs: images scaled, token sequences cut. The network sees something else, so it is ranked last.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "model/number_text.h"
#include "plan/measured_shares.h"
#include "plan/stream/between.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

// The first tensor of a batch decides: N x C x H x W is an image, N x L a token sequence.
enum class InputKind { kUnknown, kImage, kSequence };

InputKind kind_of_input(const model::Job& job) {
  const model::LoaderFacts* loader = model::find_loader(job, model::phase::kTrain);
  if (loader == nullptr || loader->shapes.empty()) return InputKind::kUnknown;
  const std::size_t dimensions = loader->shapes[0].size();
  if (dimensions == 4) return InputKind::kImage;
  return dimensions == 2 ? InputKind::kSequence : InputKind::kUnknown;
}

constexpr double kScales[] = {0.75, 0.5};
constexpr double kMeasuredScale = 0.5;  // that others are guessed from

model::Change scaled_inputs(double scale) { return {"resize_input", {{"scale", scale}}}; }

// The side as python/vramfit/apply/resize_input.py has it: a multiple of 32 stays one.
std::int64_t side_at(std::int64_t length, double scale) {
  const auto scaled = static_cast<double>(length) * scale;
  const std::int64_t step = length % 32 == 0 && scaled >= 32 ? 32 : 1;
  return std::max(step, std::lround(scaled / static_cast<double>(step)) * step);
}

// What is left of an image's pixels, or of a sequence's length, when it is scaled.
double left_at(double scale, const model::Job& job) {
  const model::LoaderFacts* loader = model::find_loader(job, model::phase::kTrain);
  if (kind_of_input(job) == InputKind::kUnknown) return 1;
  double left = 1;
  const std::vector<std::int64_t>& shape = loader->shapes[0];
  for (std::size_t i = shape.size() == 4 ? 2 : 1; i < shape.size(); ++i) {
    left *= static_cast<double>(side_at(shape[i], scale)) / static_cast<double>(shape[i]);
  }
  return left;
}

class ResizeInput final : public Technique {
 public:
  std::string_view id() const override { return "resize"; }

  Applicability applies_to(const model::Job& job, const Target&) const override {
    if (kind_of_input(job) == InputKind::kUnknown) return not_possible("the inputs are neither images nor sequences");
    if (left_at(kMeasuredScale, job) >= 1) return not_possible("the inputs can't be made smaller");
    return applicable();
  }

  std::vector<model::Change> options(const model::Job& job, const Target&) const override {
    std::vector<model::Change> all;
    double before = 1;
    for (const double scale : kScales) {  // each leaves less than the one before it
      const double left = left_at(scale, job);
      if (left < before) all.push_back(scaled_inputs(scale));
      before = std::min(before, left);
    }
    return all;
  }

  void predict(const model::Job& job, const Target&, const model::Change& change, Forecast& forecast) const override {
    const double scale = model::find_number(change, "scale").value_or(1);
    // It shrinks at least linearly: unfused attention would shrink with the square.
    const double share = left_at(scale, job);
    auto measured = job.measured.find(measured_key(change));
    const bool is_own = measured != job.measured.end();
    if (!is_own) measured = job.measured.find(measured_key(scaled_inputs(kMeasuredScale)));
    if (measured == job.measured.end()) {
      for (const std::string_view phase : {model::phase::kTrain, model::phase::kValidate, model::phase::kTest})
        scale_batch(forecast, phase, share);
    } else {
      const double left_measured = is_own ? share : left_at(kMeasuredScale, job);
      scale_as_measured(job, measured->second, share, left_measured, forecast);
      forecast.measured_with = measured->first;
      forecast.inputs_left = share;
      forecast.inputs_left_measured = left_measured;
    }
    scale_work(forecast.work, share);
    forecast.uncertainty = std::max(forecast.uncertainty, measured == job.measured.end() ? 0.1 : 0.05);
    worsen(forecast, Effect::kInput, fmt::format("inputs at {:.0f} % of their size: accuracy changes", scale * 100));
  }

  // Each by itself: what convolutions work in at one size does not follow from another. Where time was left for the
  // smaller one alone, the other lies between that and the whole.
  std::vector<model::Change> find_all_measurable(const model::Job& job, const Target& target) const override {
    std::vector<model::Change> all = options(job, target);
    std::ranges::reverse(all);
    return all;
  }

  std::string describe(const model::Change& change) const override {
    return fmt::format("inputs x {:g}", model::find_number(change, "scale").value_or(1));
  }

 private:
  static void scale_as_measured(const model::Job& job, const std::vector<model::StagePeak>& measured, double left,
                                double left_measured, Forecast& forecast) {
    double activations = 1;  // of the fullest moment of training
    Bytes most;
    for (model::StagePeak& moment : forecast.stage_peaks) {
      const model::StagePeak* before = find_same_stage(job.stage_peaks, moment);
      const model::StagePeak* after = find_same_stage(measured, moment);
      if (before == nullptr || after == nullptr || moment.phase == model::phase::kLoad) continue;
      const auto share = [&](Bytes model::Holdings::*field) {
        return share_between(left, left_measured, share_of(after->holdings.*field, before->holdings.*field));
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
