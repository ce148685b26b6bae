#include "app/equivalence/tensor_distance.h"

#include <algorithm>
#include <cmath>

namespace vramfit::app {

using facts::Tensors;
namespace {

// Gradients of a tensor that are this much smaller than the largest tensor's are what sums leave over: those of a bias
// before a batch norm or a softmax.
constexpr double kNegligible = 1e-5;
// A tensor that is so much smaller than the others is not compared by itself.
constexpr double kMinor = 1e-3;

struct Sums {
  double apart = 0, size = 0, product = 0, other = 0;  // squares
  std::size_t count = 0;

  void add(double without, double with) {
    apart += (with - without) * (with - without);
    size += without * without;
    other += with * with;
    product += without * with;
    ++count;
  }
  void add(const Sums& more) {
    apart += more.apart;
    size += more.size;
    other += more.other;
    product += more.product;
    count += more.count;
  }
  double share() const {
    if (apart == 0) return 0;
    return size > 0 ? std::sqrt(apart / size) : 1;
  }
  double mean_square() const { return count > 0 ? size / static_cast<double>(count) : 0; }
};

bool is_looked_at(const Mask& mask, const std::string& name, std::size_t place) {
  if (mask.empty()) return true;
  const auto found = mask.find(name);
  return found == mask.end() || (place < found->second.size() && found->second[place]);
}

double mean_square(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

}  // namespace

TensorDistance measure_distance(const Tensors& without, const Tensors& with, const Mask& mask, double share) {
  Sums all;
  std::map<std::string, Sums> each;
  double largest = 0;
  for (const auto& [name, values] : without) {
    const auto other = with.find(name);
    if (other == with.end() || other->second.size() != values.size()) continue;
    Sums sums;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (is_looked_at(mask, name, i)) sums.add(values[i], other->second[i]);
    }
    if (sums.count == 0) continue;
    largest = std::max(largest, sums.mean_square());
    all.add(sums);
    each.emplace(name, sums);
  }
  TensorDistance distance;
  distance.whole = all.share();
  distance.scale = all.size > 0 ? all.product / all.size : 1;
  const double left = all.other - (all.size > 0 ? all.product * all.product / all.size : 0);
  distance.beyond = all.other > 0 ? std::sqrt(std::max(0.0, left) / all.other) : 0;
  distance.looked_at = each.size();
  for (const auto& [name, sums] : each) {
    distance.differing += sums.share() > share;
    if (sums.mean_square() < kMinor * kMinor * largest || sums.share() <= distance.worst) continue;
    distance.worst = sums.share();
    distance.at = name;
  }
  return distance;
}

Mask find_telling(const Tensors& gradients, double floor) {
  double largest = 0;
  for (const auto& [name, values] : gradients) largest = std::max(largest, mean_square(values));
  Mask mask;
  for (const auto& [name, values] : gradients) {
    const double own = mean_square(values);
    const double least = own < kNegligible * kNegligible * largest ? INFINITY : floor * std::sqrt(own);
    for (const double value : values) mask[name].push_back(std::abs(value) >= least && value != 0);
  }
  return mask;
}

std::string find_not_finite(const Tensors& tensors) {
  for (const auto& [name, values] : tensors) {
    if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); })) return name;
  }
  return "";
}

bool are_zero(const Tensors& tensors) {
  return std::ranges::all_of(tensors, [](const auto& tensor) {
    return std::ranges::all_of(tensor.second, [](double value) { return value == 0; });
  });
}

}  // namespace vramfit::app
