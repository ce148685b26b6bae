// The next smaller networks of the same family, where timm, torchvision or transformers makes the script's by a name or
// a config: another training, ranked last. What each needs is seen in a run of it.
#include <fmt/format.h>

#include <algorithm>

#include "plan/techniques/another_network.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

// About what one step down a family leaves, where there was no time for a run. The trial tells.
constexpr double kGuessedShare = 0.7;
constexpr double kGuessedUncertainty = 0.4;

class SmallerModel final : public Technique {
 public:
  std::string_view id() const override { return "smaller_model"; }
  // Modules that are run again are named as in the script's own network.
  std::string_view slot() const override { return checkpoint().slot(); }

  Applicability applies_to(const model::Job& job, const Target&) const override {
    if (!job.network) {
      return not_possible("timm, torchvision and transformers made no network by a name or a config that is known");
    }
    const model::NetworkFacts& network = *job.network;
    if (network.library == "transformers" && network.loaded) {
      return not_possible("weights of " + network.name + " come from a checkpoint, which has none for a smaller one");
    }
    if (network.smaller.empty()) return not_possible(network.name + " is the smallest of its family that is known");
    return applicable();
  }

  std::vector<model::Change> options(const model::Job& job, const Target&) const override {
    return leave_what_needs_less(job, all_options(job));
  }

  std::vector<model::Change> find_all_measurable(const model::Job& job, const Target&) const override {
    return all_options(job);
  }

  void predict(const model::Job& job, const Target&, const model::Change& change, Forecast& forecast) const override {
    if (!foretell_by_its_run(job, change, forecast)) guess(job, change, forecast);
    worsen(forecast, Effect::kNetwork,
           fmt::format("{} instead of {}: another network, with an accuracy of its own",
                       model::find_text(change, "to").value_or(""), model::find_text(change, "from").value_or("")));
  }

  std::string describe(const model::Change& change) const override {
    return model::find_text(change, "to").value_or("") + " instead of " + model::find_text(change, "from").value_or("");
  }

 private:
  static std::vector<model::Change> all_options(const model::Job& job) {
    std::vector<model::Change> changes;
    for (const std::string& other : job.network->smaller) {
      changes.push_back({"smaller_model", {{"from", job.network->name}, {"to", other}}});
    }
    return changes;
  }

  static void guess(const model::Job& job, const model::Change& change, Forecast& forecast) {
    const auto& smaller = job.network->smaller;
    const auto steps = std::ranges::find(smaller, model::find_text(change, "to").value_or("")) - smaller.begin() + 1;
    double share = 1;
    for (std::ptrdiff_t step = 0; step < steps; ++step) share *= kGuessedShare;
    for (model::StagePeak& moment : forecast.stage_peaks) {
      for (auto field : {&model::Holdings::weights, &model::Holdings::optimizer, &model::Holdings::activations}) {
        moment.holdings.*field = scaled(moment.holdings.*field, share);
      }
    }
    forecast.parameter_share *= share;
    scale_work(forecast.work, share);
    forecast.uncertainty = std::max(forecast.uncertainty, kGuessedUncertainty);
  }
};

}  // namespace

const Technique& smaller_model() {
  static const SmallerModel kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
