#include "app/equivalence/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/equivalence/closeness.h"

namespace vramfit::app {

using facts::GroupOptions;
using facts::TrainingRecord;
using facts::TrainingStep;

namespace {

// Options are numbers that the script computes; two runs compute the same to nearly the last digit.
constexpr double kOptionShare = 1e-6;

const TrainingStep* find_step(const TrainingRecord& record, const TrainingStep& like) {
  const auto found = std::ranges::find_if(record.steps, [&](const TrainingStep& step) {
    return step.optimizer == like.optimizer && step.number == like.number;
  });
  return found == record.steps.end() ? nullptr : &*found;
}

std::string of_optimizer(int optimizer, const TrainingRecord& record) {
  return count_steps(record).size() < 2 ? "" : fmt::format(" of optimizer {}", optimizer + 1);
}

std::string words_of_option(const std::string& name) { return name == "lr" ? "the learning rate" : "`" + name + "`"; }

// The options that differ, each named once, at the first step where it does.
std::vector<std::string> find_other_options(const GroupOptions& before, const GroupOptions& now) {
  std::vector<std::string> names;
  for (const auto& [name, value] : before) {
    const auto other = now.find(name);
    if (other != now.end() && !is_close(value, other->second, kOptionShare)) names.push_back(name);
  }
  return names;
}

}  // namespace

std::map<int, int> count_steps(const TrainingRecord& record) {
  std::map<int, int> counts;
  for (const TrainingStep& step : record.steps) counts[step.optimizer] = std::max(counts[step.optimizer], step.number);
  return counts;
}

std::vector<std::string> compare_counts(const TrainingRecord& without, const TrainingRecord& with) {
  std::vector<std::string> differences;
  const auto now = count_steps(with);
  for (const auto& [optimizer, count] : count_steps(without)) {
    const auto other = now.find(optimizer);
    const int steps = other == now.end() ? 0 : other->second;
    if (steps == count) continue;
    differences.push_back(
        fmt::format("{} optimizer steps{} instead of {}", steps, of_optimizer(optimizer, without), count));
  }
  return differences;
}

std::vector<std::string> compare_options(const TrainingRecord& without, const TrainingRecord& with) {
  std::vector<std::string> differences, told;
  for (const TrainingStep& step : without.steps) {
    const TrainingStep* other = find_step(with, step);
    if (other == nullptr) continue;
    for (std::size_t group = 0; group < std::min(step.groups.size(), other->groups.size()); ++group) {
      const GroupOptions &before = step.groups[group], &now = other->groups[group];
      for (const std::string& name : find_other_options(before, now)) {
        if (std::ranges::find(told, name) != told.end()) continue;
        told.push_back(name);
        differences.push_back(fmt::format("{} in step {}{} is {:.4g} instead of {:.4g}", words_of_option(name),
                                          step.number, of_optimizer(step.optimizer, without), now.at(name),
                                          before.at(name)));
      }
    }
  }
  return differences;
}

std::optional<std::string> compare_samples(const TrainingRecord& without, const TrainingRecord& with) {
  for (const TrainingStep& step : without.steps) {
    const TrainingStep* other = find_step(with, step);
    if (other == nullptr || other->samples == step.samples) continue;
    return fmt::format("optimizer step {}{} comes after {} samples instead of {}", step.number,
                       of_optimizer(step.optimizer, without), other->samples, step.samples);
  }
  return std::nullopt;
}

bool saw_the_same(const TrainingRecord& without, const TrainingRecord& with, const plan::Promise& promise) {
  for (const auto& [optimizer, sum] : without.weights) {
    const auto other = with.weights.find(optimizer);
    if (!promise.rounds_weights && other != with.weights.end() && !is_close(sum, other->second, kDataShare))
      return false;
  }
  return std::ranges::all_of(without.steps, [&](const TrainingStep& step) {
    const TrainingStep* other = find_step(with, step);
    if (other == nullptr) return true;
    return other->samples == step.samples && is_same_sum(step.data, other->data);
  });
}

}  // namespace vramfit::app
