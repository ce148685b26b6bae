// Activation checkpointing: chosen blocks keep only their output and are run again in backward.
//
// Which blocks: where a whole training step was seen, the cheapest sets for the card and for other budgets
// (recompute/solver.h), of modules at any depth, also one within another. Where none was seen, by bytes freed for work
// repeated, in sets of growing size, at the level of the module tree that reaches deepest; among these is the smallest
// that is foretold to fit the card. The work repeated is one forward of the chosen blocks.
#include <fmt/format.h>

#include <algorithm>

#include "plan/checkpointing.h"
#include "plan/evaluation.h"
#include "plan/recompute/repeat_sets.h"
#include "plan/techniques/parts_of_batch.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

// A set that frees less than this share of the activations is not worth a run.
constexpr double kWorthwhile = 0.03;
// The share of the card that a set must leave to be foretold to fit: the forecast is that good at best.
constexpr double kSpare = 0.05;
// The share of the card that a set leaves where some is to be spare (search.cc asks for 8 %).
constexpr double kRoomToSpare = 0.12;

const model::BlockLevel* find_best_level(const model::Job& job) {
  const model::BlockLevel* best = nullptr;
  Bytes best_freed;
  for (const model::BlockLevel& level : job.levels) {
    const auto sets = growing_sets(level);
    if (sets.empty()) continue;
    const Bytes freed = bytes_freed(job, sets.back());
    if (best == nullptr || freed > best_freed) {
      best = &level;
      best_freed = freed;
    }
  }
  return best;
}

Bytes sum_saved(const model::BlockLevel& level) {
  Bytes sum;
  for (const model::ModuleBlock& block : level.blocks) sum += block.saved;
  return sum;
}

class Checkpoint final : public Technique {
 public:
  std::string_view id() const override { return "checkpoint"; }
  ActsIn acts_in() const override { return ActsIn::kTraining; }

  Applicability applies_to(const model::Job& job, const Target& target) const override {
    if (job.precision.checkpointing) return in_force("the script already checkpoints activations");
    if (job.precision.compiled) return not_possible("the model is compiled; torch.compile decides what it recomputes");
    if (job.levels.empty()) return not_possible("no blocks were seen in the model");
    if (options(job, target).empty())
      return not_possible("no block holds enough activations to be worth running twice");
    return applicable();
  }

  std::vector<model::Change> options(const model::Job& job, const Target& target) const override {
    std::vector<model::Change> changes;
    const auto add = [&](std::vector<std::string> names) -> model::Change& {
      return changes.emplace_back(std::string(id()),
                                  std::map<std::string, model::Setting>{{"modules", std::move(names)}});
    };
    if (!job.step_modules) {
      for (auto& names : nested_sets(job, target)) add(std::move(names));
      return changes;
    }
    for (RepeatSet& set : find_repeat_sets(job, target.card, budgets_of(job, target))) {
      model::Change& change = add(std::move(set.modules));
      if (set.kept == Kept::kProducts) change.settings.emplace("keep", std::string("products"));
    }
    return changes;
  }

  // The first run of a module keeps no graph. An evaluation shows what its forward holds then; where the script makes
  // none, a step whose activations wait in host memory does.
  const Technique* find_witness(const model::Job& job, const Target& target) const override {
    if (std::ranges::any_of(job.stage_peaks, is_evaluation)) return nullptr;
    const Technique& witness = offload_activations();  // whether or not it would be worth a plan
    const bool is_possible = !target.card.is_integrated && model::find_obstacle(job, witness.id()).empty();
    return is_possible ? &witness : nullptr;
  }

  void predict(const model::Job& job, const Target&, const model::Change& change, Forecast& forecast) const override {
    const auto names = model::find_names(change, "modules");
    forecast.uncertainty = std::max(forecast.uncertainty, 0.1);
    forecast.repeats = &change;
    if (const auto seen = find_seen(job, names)) {
      const model::StepModules& step = *job.step_modules;
      const Kept kept = kept_by(change);
      forecast.recomputed = step.peak - peak_with(kept == Kept::kProducts ? with_products_kept(step) : step, *seen);
      add_repeats(step, *seen, kept, forecast);
    } else {
      forecast.recomputed = bytes_freed(job, names);
      add_recompute(job, names, forecast);
    }
  }

  std::string describe(const model::Change& change) const override {
    const auto names = model::find_names(change, "modules");
    const std::string_view verb = kept_by(change) == Kept::kProducts ? "selective checkpoint" : "checkpoint";
    return names.size() == 1 ? fmt::format("{} {}", verb, names[0]) : fmt::format("{} {} blocks", verb, names.size());
  }

 private:
  static Kept kept_by(const model::Change& change) {
    return model::find_text(change, "keep") == "products" ? Kept::kProducts : Kept::kNothing;
  }

  // Bytes that may be allocated in forward and backward: so that it fits, and so that some of the card is left.
  static std::vector<Bytes> budgets_of(const model::Job& job, const Target& target) {
    Bytes fullest;
    for (const model::StagePeak& moment : job.stage_peaks) {
      if (holds_graph(moment)) fullest = std::max(fullest, sum(moment.holdings));
    }
    const Bytes beside = job.overhead + scaled(find_cache(job), kStuckCache);
    const Bytes unseen = std::max(fullest - job.step_modules->peak, Bytes());  // by the step that sets are made for
    std::vector<Bytes> budgets;
    for (const double spare : {kSpare, kRoomToSpare})
      budgets.push_back(scaled(target.limit, 1 - spare) - beside - unseen);
    return budgets;
  }

  // The named modules of the step; none when it lacks one.
  static std::optional<std::vector<std::size_t>> find_seen(const model::Job& job,
                                                           const std::vector<std::string>& names) {
    if (!job.step_modules) return std::nullopt;
    auto seen = find_modules(*job.step_modules, names);
    return seen.size() == names.size() ? std::optional(std::move(seen)) : std::nullopt;
  }

  std::vector<std::vector<std::string>> nested_sets(const model::Job& job, const Target& target) const {
    auto sets = sets_of(job);
    if (sets.empty()) return sets;
    if (auto least = find_smallest_that_fits(job, target); !least.empty()) {
      const auto place = std::ranges::lower_bound(sets, least.size(), {}, &std::vector<std::string>::size);
      if (place == sets.end() || place->size() != least.size()) sets.insert(place, std::move(least));
    }
    return sets;
  }

  static std::vector<std::vector<std::string>> sets_of(const model::Job& job) {
    const model::BlockLevel* level = find_best_level(job);
    if (level == nullptr) return {};
    auto sets = growing_sets(*level);
    const Bytes least = scaled(sum_saved(*level), kWorthwhile);
    std::erase_if(sets, [&](const auto& names) { return bytes_freed(job, names) < least; });
    return sets;
  }

  // Bisects, since more blocks never hold more. Empty when not even all of them are foretold to fit.
  std::vector<std::string> find_smallest_that_fits(const model::Job& job, const Target& target) const {
    const model::BlockLevel* level = find_best_level(job);
    const std::vector<std::string> names = order_by_worth(*level);
    const auto first = [&](std::size_t count) {
      return std::vector(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count));
    };
    const auto fits = [&](std::size_t count) {
      Forecast forecast = start_forecast(job);
      predict(job, target, {std::string(id()), {{"modules", first(count)}}}, forecast);
      return add_up(job, forecast).needs <= scaled(target.limit, 1 - kSpare);
    };
    if (!fits(names.size())) return {};
    std::size_t low = 0, high = names.size();  // `high` fits
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      (fits(middle) ? high : low) = middle;
    }
    return first(high);
  }

  // The blocks' forward once more. Without counted work, bytes saved stand for work: they go together.
  static void add_recompute(const model::Job& job, const std::vector<std::string>& names, Forecast& forecast) {
    const model::BlockLevel* level = find_level(job, names);
    if (level == nullptr) return;
    double macs = 0, all_macs = 0, bytes = 0, all_bytes = 0;
    for (const model::ModuleBlock& block : level->blocks) {
      const bool again = std::ranges::find(names, block.name) != names.end();
      const auto saved = static_cast<double>(block.saved.count());
      macs += again ? block.forward_macs : 0;
      all_macs += block.forward_macs;
      bytes += again ? saved : 0;
      all_bytes += saved;
    }
    const double share_of_bytes = all_bytes > 0 ? bytes / all_bytes : 0;
    repeat_forward(all_macs > 0 ? macs / all_macs : share_of_bytes, share_of_bytes, forecast);
  }

  // What is within another one that is run again is run a third time: it counts by itself.
  static void add_repeats(const model::StepModules& step, const std::vector<std::size_t>& chosen, Kept kept,
                          Forecast& forecast) {
    double macs = 0, all_macs = 0, bytes = 0, all_bytes = 0;
    for (const std::size_t index : chosen) {
      const model::StepModule& module = step.modules[index];
      macs += kept == Kept::kNothing ? module.macs : 0;
      bytes += module.bytes - (kept == Kept::kNothing ? 0 : static_cast<double>(module.products.count()) / 2);
    }
    for (const model::StepModule& module : step.modules) {
      if (module.parent >= 0) continue;
      all_macs += module.macs;
      all_bytes += module.bytes;
    }
    const double share_of_bytes = all_bytes > 0 ? bytes / all_bytes : 0;
    repeat_forward(all_macs > 0 ? macs / all_macs : share_of_bytes, share_of_bytes, forecast);
  }
};

}  // namespace

const Technique& checkpoint() {
  static const Checkpoint kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
