#include "app/equivalence/compare_training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "app/equivalence/closeness.h"
#include "app/equivalence/equivalence.h"
#include "app/equivalence/numbers.h"
#include "app/equivalence/schedule.h"
#include "app/equivalence/tensor_distance.h"

namespace vramfit::app {

using facts::EffectKind;
using facts::PlanEffect;
using facts::TrainingRecord;
using model::Equivalence;
using model::Sameness;

namespace {

// Sums in another order differ by no more than this. A larger difference means a lower precision.
constexpr double kSumsShare = 1e-5;
constexpr std::size_t kDifferencesInText = 2;

// Why the two runs can't be compared. Empty: they can.
std::string find_obstacle(const TrainingRecord& without, const TrainingRecord& with) {
  if (without.steps.empty()) return "no optimizer step was seen in the job as it is";
  if (!without.has_ended) return "the job as it is ended before its first steps were over";
  if (with.steps.empty()) return "no optimizer step was seen with the plan";
  if (!with.has_ended) return "with the plan the job ended before its first steps were over";
  if (!find_not_finite(without).empty()) return "without the plan it trains to values that are not numbers, too";
  if (are_zero(without.updates) && are_zero(without.gradients))
    return "the weights do not move in its first steps: some operator has no values on the CPU";
  if (without.optimizers != with.optimizers && !without.optimizers.empty() && !with.optimizers.empty()) {
    return fmt::format("it is meant to train otherwise: {} instead of {}", fmt::join(with.optimizers, ", "),
                       fmt::join(without.optimizers, ", "));
  }
  for (const PlanEffect& effect : with.effects) {
    if (effect.technique == "autocast") return effect.text;
  }
  return "";
}

// What the plan's techniques themselves say that they change.
std::vector<std::string> find_effects(const TrainingRecord& with) {
  std::vector<std::string> effects;
  for (const PlanEffect& effect : with.effects) {
    // Batch statistics are told elsewhere: in these short runs batch norms average over other numbers of samples than
    // under the plan.
    if (effect.what != EffectKind::kBatchStatistics) effects.push_back(effect.text);
  }
  return effects;
}

// A plan that leaves batches whole does not change how often a loop goes round: where both runs saw the same samples up
// to the end of the shorter, the script stopped by a number that came out otherwise. Empty: it is no such stop.
std::string find_early_stop(const TrainingRecord& without, const TrainingRecord& with, const plan::Promise& promise) {
  const auto counts = compare_counts(without, with);
  if (counts.empty() || promise.mixes_samples || !saw_the_same(without, with, promise)) return "";
  return fmt::format(
      "the script itself stopped after another number of steps, {}: early stopping, by a number that the plan rounds "
      "otherwise or that the few samples of this comparison leave close to its limit",
      counts.front());
}

int count_most_steps(const TrainingRecord& record) {
  int most = 0;
  for (const auto& [optimizer, steps] : count_steps(record)) most = std::max(most, steps);
  return most;
}

std::string steps_in_words(int steps) { return fmt::format("{} step{}", steps, steps == 1 ? "" : "s"); }

Equivalence not_a_number(Equivalence found, const std::string& name) {
  found.sameness = Sameness::kNotANumber;
  found.differences.push_back(fmt::format("tensor {} is infinite or not a number", name));
  found.text = "trains to values that are not numbers: after " + steps_in_words(found.steps) +
               " some weights or gradients are infinite or NaN, which they are not without the plan";
  return found;
}

Equivalence trains_something_else(Equivalence found) {
  found.sameness = Sameness::kOther;
  const auto shown = std::min(kDifferencesInText, found.differences.size());
  found.text = fmt::format(
      "trains something else: {}",
      fmt::join(found.differences.begin(), found.differences.begin() + static_cast<std::ptrdiff_t>(shown), "; "));
  return found;
}

Sameness class_of_numbers(const Equivalence& found, const plan::Promise& promise) {
  const double distance = std::max(found.gradient_distance, found.update_distance);
  if (distance == 0) return Sameness::kEqual;
  const double rounding = promise.at_most == Sameness::kPrecision ? kSumsShare : plan::kRoundingShare;
  return distance <= rounding ? Sameness::kRounding : Sameness::kPrecision;
}

std::string weights_in_words(const Equivalence& found, const plan::Promise& promise) {
  switch (class_of_numbers(found, promise)) {
    case Sameness::kEqual:
      return "weights equal";
    case Sameness::kRounding:
      return "weights equal to rounding";
    default:
      return fmt::format("updates of the weights within {}, as rounding to fewer bits leaves them",
                         percent(found.update_distance));
  }
}

// `is_named`: only what some technique says it changes is different.
Equivalence trains_the_same(Equivalence found, const plan::Promise& promise, bool is_named, bool has_batch_norm) {
  found.sameness = class_of_numbers(found, promise);
  if (is_named || (promise.mixes_samples && has_batch_norm)) found.sameness = Sameness::kStatistics;
  if (is_named) {
    found.text = fmt::format("trains the same but for what is named: {}", fmt::join(found.effects, "; "));
    return found;
  }
  const std::string compared =
      fmt::format("{} compared, {}", steps_in_words(found.steps), weights_in_words(found, promise));
  std::string named;
  for (std::size_t i = 0; i < std::min(kDifferencesInText, found.effects.size()); ++i) named += "; " + found.effects[i];
  if (found.sameness == Sameness::kStatistics) {
    found.text =
        "trains the same but for batch statistics: " + compared + " once batch norms saw as many samples" + named;
    return found;
  }
  const bool is_coarser = found.sameness == Sameness::kPrecision;
  found.text = (is_coarser ? "trains the same steps in fewer bits: " : "trains the same: ") + compared + named;
  return found;
}

void append(std::vector<std::string>& all, std::vector<std::string> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// Watches a plan that changes the training on purpose: the numbers may all differ, but they have to be numbers.
Equivalence watch_other_training(const TrainingRecord& without, const TrainingRecord& with, const std::string& meant) {
  const auto not_same = [&](const std::string& known) { return trains_otherwise(meant, "; " + known); };
  if (with.steps.empty()) return not_same("no optimizer step was seen with it");
  Equivalence found;
  found.steps = count_most_steps(with);
  if (const std::string name = find_not_finite(with); !name.empty()) {
    if (!find_not_finite(without).empty()) return not_same("its values are not numbers, as they are without it");
    found.checked = true;
    return not_a_number(std::move(found), name);
  }
  if (are_zero(with.updates)) {
    if (are_zero(without.updates)) return not_same("no weight moved in its first steps, nor without it");
    found.checked = true;
    found.differences.push_back("no weight moves in " + steps_in_words(found.steps));
    return trains_something_else(std::move(found));
  }
  return not_same(steps_in_words(found.steps) + " with it move the weights, and no number is infinite or NaN");
}

}  // namespace

Equivalence compare_training(const TrainingRecord& without, const TrainingRecord& with, const plan::Promise& promise) {
  if (!promise.meant.empty()) return watch_other_training(without, with, promise.meant);
  if (const std::string why = find_obstacle(without, with); !why.empty()) return not_compared(why);
  if (const std::string stop = find_early_stop(without, with, promise); !stop.empty()) return not_compared(stop);
  Equivalence found;
  found.checked = true;
  found.effects = find_effects(with);
  found.steps = count_most_steps(with);
  std::vector<std::string> schedule = compare_counts(without, with);
  append(schedule, compare_options(without, with));
  if (const std::string name = find_not_finite(with); !name.empty()) return not_a_number(std::move(found), name);
  ComparedNumbers numbers = compare_numbers(without, with, promise);
  found.gradient_distance = numbers.gradient_distance;
  found.update_distance = numbers.update_distance;
  if (!numbers.differences.empty()) {
    if (auto samples = compare_samples(without, with)) schedule.push_back(std::move(*samples));
    if (schedule.empty() && !saw_the_same(without, with, promise)) {
      return not_compared(
          "the two runs were not given the same numbers, as when samples are changed at random or padded by batch");
    }
  }
  const auto names_labels = [](const PlanEffect& effect) { return effect.what == EffectKind::kLabelWeights; };
  const bool are_labels_named = std::ranges::any_of(with.effects, names_labels);
  const bool is_named = schedule.empty() && are_labels_named;
  found.differences = std::move(schedule);
  append(found.differences, std::move(numbers.differences));
  if (!found.differences.empty() && !is_named) return trains_something_else(std::move(found));
  return trains_the_same(std::move(found), promise, is_named, without.has_batch_norm);
}

}  // namespace vramfit::app
