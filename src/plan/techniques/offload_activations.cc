// What autograd saves for the backward pass waits in host memory: copied there as it is saved, and back when it is due.
//
// Freed is what the model's blocks keep from their forward to their backward, but for what is at work: one operator's
// tensors. What the script saves outside of the model, its loss above all, stays. The price is the way through
// the card's slot, twice, which nothing else runs beside.
#include <fmt/format.h>

#include <algorithm>

#include "plan/evaluation.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

// A job whose model saves less than this share of the activations is not worth a run.
constexpr double kWorthOffloading = 0.03;
// Times the largest part: in its backward, what it saved is back beside the gradients of its output and input.
constexpr double kAtWork = 3;

Bytes activations_at_peak(const model::Job& job) {
  Bytes most;
  for (const model::StagePeak& moment : job.stage_peaks) {
    if (holds_graph(moment)) most = std::max(most, moment.holdings.activations);
  }
  return most;
}

Bytes find_saved(const model::Job& job) {
  Bytes saved;
  for (const model::ModuleBlock& block : job.levels.front().blocks) saved += block.saved;
  return std::min(saved, activations_at_peak(job));
}

Bytes find_offloaded(const model::Job& job) {
  const auto& parts = job.levels.back().blocks;
  Bytes at_work = parts.back().saved;  // the loss reads it, and the loss's gradients are counted as they are
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) at_work = std::max(at_work, scaled(parts[i].saved, kAtWork));
  return std::max(find_saved(job) - at_work, Bytes(0));
}

class OffloadActivations final : public Technique {
 public:
  std::string_view id() const override { return "offload_activations"; }
  ActsIn acts_in() const override { return ActsIn::kTraining; }

  Applicability applies_to(const model::Job& job, const Target& target) const override {
    if (job.precision.compiled) return not_possible("the model is compiled; torch.compile decides what it saves");
    if (target.card.is_integrated) return not_possible("the card has no memory but the host's");
    if (job.levels.empty()) return not_possible("no blocks were seen in the model");
    const Bytes all = activations_at_peak(job), freed = find_offloaded(job);
    if (freed <= scaled(all, kWorthOffloading)) {
      return not_possible(fmt::format("of {} of activations at the peak, {} could wait in host memory", to_string(all),
                                      to_string(freed)));
    }
    return applicable();
  }

  std::vector<model::Change> options(const model::Job&, const Target&) const override {
    return {{std::string(id()), {}}};
  }

  // What an operator saved comes back for each that saved it, which its blocks alone do not tell.
  std::optional<model::Change> find_measurable(const model::Job&, const Target&) const override {
    return model::Change{std::string(id()), {}};
  }
  bool is_foretold_unmeasured() const override { return true; }

  void predict(const model::Job& job, const Target&, const model::Change&, Forecast& forecast) const override {
    forecast.offloaded = find_offloaded(job);
    if (is_measured(job, id())) forecast.saved_measured_with = id();
    forecast.uncertainty = std::max(forecast.uncertainty, 0.1);
    worsen(forecast, Effect::kSame,
           fmt::format("activations wait in host memory: {} of it, pinned, at this batch size (as much again where "
                       "PyTorch rounds up)",
                       to_string(forecast.offloaded)));
  }

  std::string describe(const model::Change& change) const override {
    const auto names = model::find_names(change, "modules");
    if (names.empty()) return "activations in host memory";
    return fmt::format("activations of {} in host memory",
                       names.size() == 1 ? names[0] : fmt::format("{} blocks", names.size()));
  }
};

}  // namespace

const Technique& offload_activations() {
  static const OffloadActivations kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
