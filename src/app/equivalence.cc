#include "app/equivalence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/tensor_distance.h"

namespace vramfit::app {

using facts::GroupOptions;
using facts::PlanEffect;
using facts::Tensors;
using facts::TrainingRecord;
using facts::TrainingStep;
std::map<int, int> count_steps(const TrainingRecord& record) {
  std::map<int, int> counts;
  for (const TrainingStep& step : record.steps) counts[step.optimizer] = std::max(counts[step.optimizer], step.number);
  return counts;
}

namespace {

using model::Equivalence;
using model::Sameness;

// Options are numbers that the script computes: the same ones are the same to the last digits.
constexpr double kOptionShare = 1e-6;
// Sums of a batch's numbers, in whatever parts.
constexpr double kDataShare = 1e-6;
// What other orders of sums leave, where a plan is allowed more: beyond it, bits are missing.
constexpr double kSumsShare = 1e-5;
// One tensor alone may be further from the other run's than all together: its sums are smaller.
constexpr double kOneTensor = 10;
constexpr double kMostOfOneTensor = 0.5;
constexpr std::size_t kDifferencesInText = 2;
// Adam and its like make steps of one size of gradients of any: what fewer bits do to small ones is as large as a step.
// Seen on networks of convolutions: 19 % where the gradients are 1 % apart.
constexpr double kStepsOfOneSize = 0.5;

bool is_close(double a, double b, double share) {
  return std::abs(a - b) <= share * std::max(std::abs(a), std::abs(b));
}

const TrainingStep* find_step(const TrainingRecord& record, const TrainingStep& like) {
  const auto found = std::ranges::find_if(record.steps, [&](const TrainingStep& step) {
    return step.optimizer == like.optimizer && step.number == like.number;
  });
  return found == record.steps.end() ? nullptr : &*found;
}

std::string percent(double share) {
  if (share >= 0.1) return fmt::format("{:.0f} %", 100 * share);
  return fmt::format("{:.2g} %", 100 * share);
}

std::string of_optimizer(int optimizer, const TrainingRecord& record) {
  return count_steps(record).size() < 2 ? "" : fmt::format(" of optimizer {}", optimizer + 1);
}

std::string words_of_option(const std::string& name) { return name == "lr" ? "the learning rate" : "`" + name + "`"; }

// Averages are told apart by the order in which they are found, which may differ: by name and size instead.
Tensors in_order_of_size(const Tensors& averages) {
  std::map<std::string, std::vector<std::vector<double>>> by_name;
  for (const auto& [index, values] : averages) by_name[index.substr(index.find('.') + 1)].push_back(values);
  const auto size = [](const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value * value;
    return sum;
  };
  Tensors ordered;
  for (auto& [name, list] : by_name) {
    std::ranges::sort(list, {}, size);
    for (std::size_t i = 0; i < list.size(); ++i) ordered[fmt::format("{}.{}", i, name)] = std::move(list[i]);
  }
  return ordered;
}

// A count of batches says how many there were.
Tensors without_counts(Tensors buffers) {
  std::erase_if(buffers, [](const auto& buffer) { return buffer.first.ends_with("num_batches_tracked"); });
  return buffers;
}

// One comparison; holds what its parts share.
class Comparison {
 public:
  Comparison(const TrainingRecord& without, const TrainingRecord& with, const plan::Promise& promise)
      : without_(without),
        with_(with),
        promise_(promise),
        share_(std::max({promise.share, plan::rounding_share_of(without.autocast), plan::kRoundingShare})),
        one_tensor_(std::min(kOneTensor * share_, kMostOfOneTensor)) {}

  Equivalence run() {
    if (const std::string why = find_obstacle(); !why.empty()) return not_compared(why);
    found_.checked = true;
    for (const PlanEffect& effect : with_.effects) {
      // Said in other words: over how many samples is not the plan's number here.
      if (!effect.text.starts_with("batch normalisation")) found_.effects.push_back(effect.text);
    }
    for (const auto& [optimizer, steps] : count_steps(with_)) found_.steps = std::max(found_.steps, steps);
    compare_counts();
    compare_options();
    if (const std::string name = not_finite(with_); !name.empty()) return not_a_number(name);
    compare_gradients();
    compare_averages();
    compare_buffers();
    compare_updates();
    if (!numbers_.empty()) compare_samples();
    return conclude();
  }

 private:
  std::string find_obstacle() const {
    if (without_.steps.empty()) return "no optimizer step was seen in the job as it is";
    if (!without_.has_ended) return "the job as it is ended before its first steps were over";
    if (with_.steps.empty()) return "no optimizer step was seen with the plan";
    if (!with_.has_ended) return "with the plan the job ended before its first steps were over";
    if (!not_finite(without_).empty()) return "without the plan it trains to values that are not numbers, too";
    if (are_zero(without_.updates) && are_zero(without_.gradients))
      return "the weights do not move in its first steps: some operator has no values on the CPU";
    if (without_.optimizers != with_.optimizers && !without_.optimizers.empty() && !with_.optimizers.empty()) {
      return fmt::format("it is meant to train otherwise: {} instead of {}", fmt::join(with_.optimizers, ", "),
                         fmt::join(without_.optimizers, ", "));
    }
    for (const PlanEffect& effect : with_.effects) {
      if (effect.technique == "autocast") return effect.text;
    }
    return "";
  }

  static std::string not_finite(const TrainingRecord& record) {
    for (const Tensors* tensors : {&record.gradients, &record.updates, &record.buffers, &record.averages}) {
      if (std::string name = find_not_finite(*tensors); !name.empty()) return name;
    }
    return "";
  }

  Equivalence not_a_number(const std::string& name) {
    found_.sameness = Sameness::kNotANumber;
    found_.differences.push_back(fmt::format("tensor {} is infinite or not a number", name));
    found_.text = "trains to values that are not numbers: after " + steps_in_words() +
                  " some weights or gradients are "
                  "infinite or NaN, which they are not without the plan";
    return std::move(found_);
  }

  std::string steps_in_words() const { return fmt::format("{} step{}", found_.steps, found_.steps == 1 ? "" : "s"); }

  // -- what a schedule decides

  void compare_counts() {
    const auto before = count_steps(without_), now = count_steps(with_);
    for (const auto& [optimizer, count] : before) {
      const auto other = now.find(optimizer);
      const int steps = other == now.end() ? 0 : other->second;
      if (steps == count) continue;
      schedule_.push_back(
          fmt::format("{} optimizer steps{} instead of {}", steps, of_optimizer(optimizer, without_), count));
    }
  }

  void compare_options() {
    std::vector<std::string> told;
    for (const TrainingStep& step : without_.steps) {
      const TrainingStep* other = find_step(with_, step);
      if (other == nullptr) continue;
      for (std::size_t group = 0; group < std::min(step.groups.size(), other->groups.size()); ++group) {
        compare_group(step, step.groups[group], other->groups[group], told);
      }
    }
  }

  void compare_group(const TrainingStep& step, const GroupOptions& before, const GroupOptions& now,
                     std::vector<std::string>& told) {
    for (const auto& [name, value] : before) {
      const auto other = now.find(name);
      if (other == now.end() || is_close(value, other->second, kOptionShare)) continue;
      if (std::ranges::find(told, name) != told.end()) continue;
      told.push_back(name);
      schedule_.push_back(fmt::format("{} in step {}{} is {:.4g} instead of {:.4g}", words_of_option(name), step.number,
                                      of_optimizer(step.optimizer, without_), other->second, value));
    }
  }

  // Of numbers that differ, why. A trainer that draws its batches ahead counts otherwise, and trains the same.
  void compare_samples() {
    for (const TrainingStep& step : without_.steps) {
      const TrainingStep* other = find_step(with_, step);
      if (other == nullptr || other->samples == step.samples) continue;
      schedule_.push_back(fmt::format("optimizer step {}{} comes after {} samples instead of {}", step.number,
                                      of_optimizer(step.optimizer, without_), other->samples, step.samples));
      return;
    }
  }

  // -- what the arithmetic decides

  bool is_rounding() const { return share_ <= plan::kRoundingShare; }

  void compare_gradients() {
    const TensorDistance distance = measure_distance(without_.gradients, with_.gradients, {}, share_);
    // A fused optimizer may be given gradients that a GradScaler has not unscaled yet.
    if (promise_.rescales_gradients) return;
    found_.gradient_distance = distance.whole;
    if (distance.whole > share_) {
      const bool is_scaled = distance.beyond <= std::max(share_, 0.01) && distance.scale > 0;
      numbers_.push_back(is_scaled ? fmt::format("gradients are {:.3g} times those without the plan", distance.scale)
                                   : fmt::format("gradients differ by {}", percent(distance.whole)));
    } else if (is_rounding() && distance.worst > one_tensor_) {
      numbers_.push_back(
          fmt::format("the gradient of parameter {} differs by {}", distance.at, percent(distance.worst)));
    }
  }

  void compare_averages() {
    const TensorDistance distance =
        measure_distance(in_order_of_size(without_.averages), in_order_of_size(with_.averages), {}, one_tensor_);
    if (2 * distance.differing <= distance.looked_at) return;
    numbers_.push_back(fmt::format("an average of the weights differs by {}", percent(distance.whole)));
  }

  void compare_buffers() {
    const TensorDistance distance =
        measure_distance(without_counts(without_.buffers), without_counts(with_.buffers), {}, share_);
    const bool differs = is_rounding() ? distance.worst > one_tensor_ : distance.whole > one_tensor_;
    if (!differs) return;
    numbers_.push_back(fmt::format("the buffer {} differs by {}", distance.at, percent(distance.worst)));
  }

  double update_share() const {
    const bool is_plain = std::ranges::all_of(without_.optimizers, [](const auto& name) { return name == "SGD"; });
    return is_rounding() || is_plain ? share_ : std::max(share_, kStepsOfOneSize);
  }

  void compare_updates() {
    const Mask telling = find_telling(without_.gradients, share_);
    const TensorDistance distance = measure_distance(without_.updates, with_.updates, telling, share_);
    found_.update_distance = distance.whole;
    if (distance.whole > update_share()) {
      numbers_.push_back(fmt::format("the update of the weights differs by {}", percent(distance.whole)));
    } else if (is_rounding() && distance.worst > one_tensor_) {
      numbers_.push_back(fmt::format("the update of parameter {} differs by {}", distance.at, percent(distance.worst)));
    }
  }

  bool are_numbers_named() const {
    return std::ranges::any_of(with_.effects,
                               [](const PlanEffect& effect) { return effect.text.starts_with("labels"); });
  }

  // -- the answer

  Equivalence conclude() {
    if (schedule_.empty() && !numbers_.empty() && !saw_the_same(without_, with_)) {
      return not_compared(
          "the two runs were not given the same numbers, as when samples are changed at random or padded by batch");
    }
    const bool is_named = schedule_.empty() && are_numbers_named();
    found_.differences = std::move(schedule_);
    found_.differences.insert(found_.differences.end(), numbers_.begin(), numbers_.end());
    if (!found_.differences.empty() && !is_named) {
      found_.sameness = Sameness::kOther;
      const auto shown = std::min(kDifferencesInText, found_.differences.size());
      found_.text = fmt::format(
          "trains something else: {}",
          fmt::join(found_.differences.begin(), found_.differences.begin() + static_cast<std::ptrdiff_t>(shown), "; "));
      return std::move(found_);
    }
    found_.sameness = class_of_numbers();
    if (is_named || (promise_.mixes_samples && without_.has_batch_norm)) found_.sameness = Sameness::kStatistics;
    found_.text = text_of_sameness(is_named);
    return std::move(found_);
  }

  Sameness class_of_numbers() const {
    const double distance = std::max(found_.gradient_distance, found_.update_distance);
    if (distance == 0) return Sameness::kEqual;
    const double rounding = promise_.at_most == Sameness::kPrecision ? kSumsShare : plan::kRoundingShare;
    return distance <= rounding ? Sameness::kRounding : Sameness::kPrecision;
  }

  std::string weights_in_words() const {
    switch (class_of_numbers()) {
      case Sameness::kEqual:
        return "weights equal";
      case Sameness::kRounding:
        return "weights equal to rounding";
      default:
        return fmt::format("updates of the weights within {}, as rounding to fewer bits leaves them",
                           percent(found_.update_distance));
    }
  }

  std::string text_of_sameness(bool is_named) const {
    const std::string compared = fmt::format("{} compared, {}", steps_in_words(), weights_in_words());
    if (is_named) return fmt::format("trains the same but for what is named: {}", fmt::join(found_.effects, "; "));
    const std::string named = found_.effects.empty() ? "" : "; " + found_.effects.front();
    if (found_.sameness != Sameness::kStatistics) return "trains the same: " + compared + named;
    return "trains the same but for batch statistics: " + compared + " once batch norms saw as many samples" + named;
  }

  const TrainingRecord& without_;
  const TrainingRecord& with_;
  const plan::Promise& promise_;
  const double share_, one_tensor_;
  std::vector<std::string> schedule_, numbers_;
  Equivalence found_;
};

}  // namespace

Equivalence compare_training(const TrainingRecord& without, const TrainingRecord& with, const plan::Promise& promise) {
  return Comparison(without, with, promise).run();
}

namespace {

std::string count_forwards(std::size_t count) { return fmt::format("{} forward{}", count, count == 1 ? "" : "s"); }

std::string why_outputs_tell_nothing(const TrainingRecord& without, const TrainingRecord& with) {
  if (without.outputs.empty()) return "no forward of an evaluation was seen in the job as it is";
  if (with.outputs.empty()) return "no forward of an evaluation was seen with the plan";
  for (const auto& [number, sum] : without.inputs) {
    const auto other = with.inputs.find(number);
    const bool same = other != with.inputs.end() && !sum.empty() && !other->second.empty() &&
                      std::abs(sum[0] - other->second[0]) <= kDataShare * std::max(1.0, std::abs(sum[0]));
    if (!same) return "the two evaluations were not given the same numbers";
  }
  if (!find_not_finite(without.outputs).empty()) return "without the plan it puts out values that are not numbers, too";
  if (are_zero(without.outputs)) return "the evaluation puts out zeros: some operator has no values on the CPU";
  return "";
}

std::string words_of(double distance, bool is_precision) {
  if (distance == 0) return "outputs equal";
  if (!is_precision) return fmt::format("outputs equal to rounding ({} at most)", percent(distance));
  return fmt::format("outputs within {}, as rounding to fewer bits leaves them", percent(distance));
}

Equivalence compare_outputs(const TrainingRecord& without, const TrainingRecord& with, double share) {
  if (const std::string why = why_outputs_tell_nothing(without, with); !why.empty()) return not_compared(why);
  Equivalence found;
  found.checked = true;
  if (const std::string name = find_not_finite(with.outputs); !name.empty()) {
    found.sameness = Sameness::kNotANumber;
    found.text = "evaluates to values that are not numbers: output " + name + ", which is one without the plan";
    found.differences.push_back(found.text);
    return found;
  }
  const TensorDistance distance = measure_distance(without.outputs, with.outputs, {}, share);
  if (distance.looked_at < without.outputs.size() || distance.worst > share) {
    found.sameness = Sameness::kOther;
    found.differences.push_back(distance.looked_at < without.outputs.size()
                                    ? "an output has another shape"
                                    : fmt::format("the output {} differs by {}, where {} was promised", distance.at,
                                                  percent(distance.worst), percent(share)));
    found.text = "evaluates to something else: " + found.differences.front();
    return found;
  }
  const bool is_precision = distance.worst > plan::kRoundingShare;
  found.sameness = distance.worst == 0 ? Sameness::kEqual : is_precision ? Sameness::kPrecision : Sameness::kRounding;
  found.text = fmt::format("evaluates the same: {} compared, {}", count_forwards(without.inputs.size()),
                           words_of(distance.worst, is_precision));
  return found;
}

}  // namespace

Equivalence compare_runs(const TrainingRecord& without, const TrainingRecord& with, const plan::Promise& promise) {
  const bool trains = !without.steps.empty();
  if (trains && promise.outputs == 0) return compare_training(without, with, promise);
  if (!trains && without.outputs.empty()) return not_compared("neither an optimizer step nor an evaluation was seen");
  const double share = std::max({promise.outputs, promise.outputs > 0 ? 0 : promise.share,
                                 plan::rounding_share_of(without.autocast), plan::kRoundingShare});
  Equivalence outputs = compare_outputs(without, with, share);
  if (!trains || is_failed(outputs)) return outputs;
  Equivalence training = compare_training(without, with, promise);
  if (is_failed(training) || !training.checked) return training;
  training.text += "; " + outputs.text;
  training.sameness = std::max(training.sameness, outputs.sameness);
  training.checked = outputs.checked;
  return training;
}

bool saw_the_same(const TrainingRecord& without, const TrainingRecord& with) {
  for (const auto& [optimizer, sum] : without.weights) {
    const auto other = with.weights.find(optimizer);
    if (other != with.weights.end() && !is_close(sum, other->second, kDataShare)) return false;
  }
  return std::ranges::all_of(without.steps, [&](const TrainingStep& step) {
    const TrainingStep* other = find_step(with, step);
    if (other == nullptr) return true;
    return other->samples == step.samples &&
           std::abs(other->data - step.data) <= kDataShare * std::max(1.0, std::abs(step.data));
  });
}

Equivalence not_compared(std::string why) {
  Equivalence none;
  none.text = "not compared: " + std::move(why);
  return none;
}

}  // namespace vramfit::app
