// Channels taken out of the layers of a convolutional network by Torch-Pruning (arXiv 2301.12900), before its optimizer
// is made: another network, of which weights, gradients, state and activations are smaller. Masks
// (torch.nn.utils.prune) leave all of that as large, and come on top.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plan/techniques/another_network.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

constexpr std::array<double, 2> kShares = {0.25, 0.5};
constexpr double kPrunedUncertainty = 0.3;  // where there was no time for a run

class Prune final : public Technique {
 public:
  std::string_view id() const override { return "prune"; }
  // Modules that are run again are chosen by what the script's own network holds.
  std::string_view slot() const override { return checkpoint().slot(); }

  Applicability applies_to(const model::Job& job, const Target&) const override {
    if (!job.convolution_layers) return not_possible("no optimizer was seen to train convolutions of 32 channels");
    const model::ConvolutionLayers& layers = *job.convolution_layers;
    if (layers.layers < 2) return not_possible("one convolution alone has channels that could go");
    if (layers.sample.empty()) return not_possible("the network is called otherwise than with one tensor");
    if (!layers.has_torch_pruning) {
      return not_possible(
          "channels are taken out by a package that the script's Python has not: pip install "
          "torch-pruning");
    }
    return applicable();
  }

  std::vector<model::Change> options(const model::Job& job, const Target&) const override {
    return leave_what_needs_less(job, pruned(job));
  }

  std::vector<model::Change> find_all_measurable(const model::Job& job, const Target&) const override {
    return pruned(job);
  }

  void predict(const model::Job& job, const Target&, const model::Change& change, Forecast& forecast) const override {
    const double share = model::find_number(change, "share").value_or(0);
    if (!foretell_by_its_run(job, change, forecast)) guess(1 - share, forecast);
    worsen(forecast, Effect::kNetwork,
           fmt::format("{:g} % of the channels are gone: another network, with an accuracy of its own; what was learnt "
                       "before has to be trained on, and checkpoints have its smaller shapes",
                       100 * share));
  }

  std::string describe(const model::Change& change) const override {
    return fmt::format("{:g} % of channels pruned", 100 * model::find_number(change, "share").value_or(0));
  }

 private:
  static std::vector<model::Change> pruned(const model::Job& job) {
    std::vector<model::Change> changes;
    for (const double share : kShares) {
      changes.push_back({"prune", {{"share", share}, {"sample", job.convolution_layers->sample}}});
    }
    return changes;
  }

  // A layer's weights have two sides, inputs and outputs; its activations one.
  static void guess(double left, Forecast& forecast) {
    for (model::StagePeak& moment : forecast.stage_peaks) {
      moment.holdings.weights = scaled(moment.holdings.weights, left * left);
      moment.holdings.optimizer = scaled(moment.holdings.optimizer, left * left);
      moment.holdings.activations = scaled(moment.holdings.activations, left);
    }
    forecast.parameter_share *= left * left;
    scale_work(forecast.work, left * left);
    forecast.uncertainty = std::max(forecast.uncertainty, kPrunedUncertainty);
  }
};

}  // namespace

const Technique& prune() {
  static const Prune kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
