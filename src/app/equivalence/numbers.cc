#include "app/equivalence/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/equivalence/closeness.h"
#include "app/equivalence/tensor_distance.h"

namespace vramfit::app {

using facts::Tensors;
using facts::TrainingRecord;

namespace {

// A single tensor may differ more between the runs than all together, because its sums have fewer terms.
constexpr double kOneTensor = 10;
constexpr double kMostOfOneTensor = 0.5;
// Adam and its like make steps of one size of gradients of any: what fewer bits do to small ones is as large as a step.
// Seen on networks of convolutions: 19 % where the gradients are 1 % apart.
constexpr double kStepsOfOneSize = 0.5;
// A square is twice as far from another, as a share, as what is squared.
constexpr double kSquares = 2;

// How far the numbers of two runs may be apart: those of all tensors together, of one tensor, and of the weights'
// updates.
struct Tolerance {
  double share, one_tensor, updates;
  bool is_rounding;  // they differ by no more than sums in another order do; then each tensor is compared by itself too
};

Tolerance find_tolerance(const TrainingRecord& without, const plan::Promise& promise) {
  const double share = std::max({promise.share, plan::rounding_share_of(without.autocast), plan::kRoundingShare});
  const bool is_rounding = share <= plan::kRoundingShare;
  const bool is_plain = std::ranges::all_of(without.optimizers, [](const auto& name) { return name == "SGD"; });
  const double updates = is_rounding || is_plain ? share : std::max(share, kStepsOfOneSize);
  return {share, std::min(kOneTensor * share, kMostOfOneTensor), updates, is_rounding};
}

void compare_gradients(const TrainingRecord& without, const TrainingRecord& with, const Tolerance& tolerance,
                       ComparedNumbers& into) {
  const TensorDistance distance = measure_distance(without.gradients, with.gradients, {}, tolerance.share);
  into.gradient_distance = distance.whole;
  if (distance.whole > tolerance.share) {
    const bool is_scaled = distance.beyond <= std::max(tolerance.share, 0.01) && distance.scale > 0;
    into.differences.push_back(is_scaled
                                   ? fmt::format("gradients are {:.3g} times those without the plan", distance.scale)
                                   : fmt::format("gradients differ by {}", percent(distance.whole)));
  } else if (tolerance.is_rounding && distance.worst > tolerance.one_tensor) {
    into.differences.push_back(
        fmt::format("the gradient of parameter {} differs by {}", distance.at, percent(distance.worst)));
  }
}

double distance_of(const std::vector<double>& one, const std::vector<double>& other) {
  double sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i) sum += (one[i] - other[i]) * (one[i] - other[i]);
  return sum;
}

// Averages are told apart by the order in which they are found, which may differ, and a plan may keep tensors of its
// own that are as large: of each name, the nearest of both runs belong together.
std::pair<Tensors, Tensors> pair_averages(const Tensors& without, const Tensors& with) {
  using List = std::vector<const std::vector<double>*>;
  const auto by_name = [](const Tensors& averages) {
    std::map<std::string, List> found;
    for (const auto& [index, values] : averages) found[index.substr(index.find('.') + 1)].push_back(&values);
    return found;
  };
  std::pair<Tensors, Tensors> paired;
  auto others = by_name(with);
  for (auto& [name, list] : by_name(without)) {
    List& candidates = others[name];
    for (std::size_t number = 0; !list.empty() && !candidates.empty(); ++number) {
      std::size_t nearest = 0, to = 0;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < list.size(); ++i) {
        for (std::size_t k = 0; k < candidates.size(); ++k) {
          if (list[i]->size() != candidates[k]->size()) continue;
          const double distance = distance_of(*list[i], *candidates[k]);
          if (!(distance < least)) continue;
          least = distance, nearest = i, to = k;
        }
      }
      const std::string key = fmt::format("{}.{}", number, name);
      paired.first[key] = *list[nearest];
      paired.second[key] = *candidates[to];
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(nearest));
      candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(to));
    }
  }
  return paired;
}

void compare_averages(const TrainingRecord& without, const TrainingRecord& with, const Tolerance& tolerance,
                      ComparedNumbers& into) {
  for (const auto kind : {&TrainingRecord::averages, &TrainingRecord::averages_in_order}) {
    const auto [own, planned] = pair_averages(without.*kind, with.*kind);
    const TensorDistance distance = measure_distance(own, planned, {}, tolerance.one_tensor);
    if (2 * distance.differing <= distance.looked_at) continue;
    into.differences.push_back(fmt::format("an average of the weights differs by {}", percent(distance.whole)));
    return;
  }
}

// A count of batches says how many there were.
Tensors without_counts(Tensors buffers) {
  std::erase_if(buffers, [](const auto& buffer) { return buffer.first.ends_with("num_batches_tracked"); });
  return buffers;
}

void compare_buffers(const TrainingRecord& without, const TrainingRecord& with, const Tolerance& tolerance,
                     ComparedNumbers& into) {
  const TensorDistance distance =
      measure_distance(without_counts(without.buffers), without_counts(with.buffers), {}, tolerance.share);
  const double apart = tolerance.is_rounding ? distance.worst : distance.whole;
  if (apart <= tolerance.one_tensor) return;
  into.differences.push_back(fmt::format("the buffer {} differs by {}", distance.at, percent(distance.worst)));
}

void compare_updates(const TrainingRecord& without, const TrainingRecord& with, const Tolerance& tolerance,
                     ComparedNumbers& into) {
  const Mask telling = find_telling(without.gradients, tolerance.share);
  const TensorDistance distance = measure_distance(without.updates, with.updates, telling, tolerance.share);
  into.update_distance = distance.whole;
  if (distance.whole > tolerance.updates) {
    into.differences.push_back(fmt::format("the update of the weights differs by {}", percent(distance.whole)));
  } else if (tolerance.is_rounding && distance.worst > tolerance.one_tensor) {
    into.differences.push_back(
        fmt::format("the update of parameter {} differs by {}", distance.at, percent(distance.worst)));
  }
}

// Moments of one name are of one size: those of squares are far smaller than the others.
std::map<std::string, std::pair<Tensors, Tensors>> find_states(const TrainingRecord& without,
                                                               const TrainingRecord& with) {
  std::map<std::string, std::pair<Tensors, Tensors>> states;
  for (const auto& [index, values] : without.states) {
    const auto other = with.states.find(index);
    if (other == with.states.end()) continue;  // a plan keeps it in another way
    auto& [own, planned] = states[index.substr(index.rfind('.') + 1)];
    own[index] = values;
    planned[index] = other->second;
  }
  return states;
}

// What optimizers keep shows what updates of one size hide: gradients of later steps that are several times too large.
// It is told where nothing else is.
void compare_states(const TrainingRecord& without, const TrainingRecord& with, const Tolerance& tolerance,
                    ComparedNumbers& into) {
  if (!into.differences.empty()) return;
  const double share = kSquares * std::max(tolerance.share, tolerance.updates);
  for (const auto& [name, states] : find_states(without, with)) {
    const TensorDistance distance = measure_distance(states.first, states.second, {}, share);
    if (distance.whole > share) {
      into.differences.push_back(
          fmt::format("the optimizer's state `{}` differs by {}", name, percent(distance.whole)));
    } else if (tolerance.is_rounding && distance.worst > kSquares * tolerance.one_tensor) {
      const std::string parameter = distance.at.substr(0, distance.at.size() - name.size() - 1);
      into.differences.push_back(fmt::format("the optimizer's state `{}` of parameter {} differs by {}", name,
                                             parameter, percent(distance.worst)));
    }
  }
}

}  // namespace

ComparedNumbers compare_numbers(const TrainingRecord& without, const TrainingRecord& with,
                                const plan::Promise& promise) {
  const Tolerance tolerance = find_tolerance(without, promise);
  ComparedNumbers compared;
  // A fused optimizer may be given gradients that a GradScaler has not unscaled yet.
  if (!promise.rescales_gradients) compare_gradients(without, with, tolerance, compared);
  compare_averages(without, with, tolerance, compared);
  compare_buffers(without, with, tolerance, compared);
  compare_updates(without, with, tolerance, compared);
  compare_states(without, with, tolerance, compared);
  return compared;
}

std::string find_not_finite(const TrainingRecord& record) {
  for (const Tensors* tensors :
       {&record.gradients, &record.updates, &record.states, &record.buffers, &record.averages}) {
    if (std::string name = find_not_finite(*tensors); !name.empty()) return name;
  }
  return "";
}

}  // namespace vramfit::app
