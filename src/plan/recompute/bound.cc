#include "plan/recompute/bound.h"

#include <algorithm>
#include <functional>

namespace vramfit::plan {
namespace {

constexpr std::size_t kProbed = 24;  // deadlines looked at, evenly over the step
constexpr std::size_t kKept = 4;
constexpr int kNarrowings = 80;

}  // namespace

CostBound::CostBound(const model::StepModules& step, const std::vector<double>& costs, Bytes budget)
    : step_(step), costs_(costs), children_(find_children(step)) {
  for (std::size_t i = 0; i < step.modules.size(); ++i) ends_.push_back(i + 1);
  for (std::size_t i = step.modules.size(); i-- > 0;) {
    const int parent = step.modules[i].parent;
    if (parent >= 0)
      ends_[static_cast<std::size_t>(parent)] = std::max(ends_[static_cast<std::size_t>(parent)], ends_[i]);
  }
  deadlines_ = find_deadlines(budget);
  for (Deadline& deadline : deadlines_) set_price(deadline);
  std::ranges::sort(deadlines_, std::greater<>(), &Deadline::least);
  if (deadlines_.size() > kKept) deadlines_.resize(kKept);
  for (Deadline& deadline : deadlines_) set_rest(deadline);
  if (!deadlines_.empty()) least_ = deadlines_.front().least;
}

double CostBound::of_rest(std::size_t last, Bytes freed, double cost) const {
  double least = cost;
  for (const Deadline& deadline : deadlines_) {
    if (ends_[last] > deadline.at) continue;  // the deadline is past, or within the module
    const double missing = deadline.bytes - static_cast<double>(freed.count());
    least = std::max(least, cost + deadline.price * missing + deadline.rest[last]);
  }
  return least;
}

// For each module, the least of its cost less what the bytes it frees are worth, and of 0. Children come after their
// parents.
std::vector<double> CostBound::reduce(std::size_t deadline, double price) const {
  std::vector<double> reduced(step_.modules.size(), 0);
  std::vector<double> inside(step_.modules.size(), 0);
  for (std::size_t i = step_.modules.size(); i-- > 0;) {
    const model::StepModule& module = step_.modules[i];
    if (i < deadline && module.may_repeat && module.freed > Bytes(0)) {
      reduced[i] = std::min(0.0, costs_[i] - price * static_cast<double>(module.freed.count()));
    }
    reduced[i] = std::min(reduced[i], inside[i]);
    if (module.parent >= 0) inside[static_cast<std::size_t>(module.parent)] += reduced[i];
  }
  return reduced;
}

double CostBound::sum_roots(const std::vector<double>& reduced) const {
  double sum = 0;
  for (const std::size_t root : children_.back()) sum += reduced[root];
  return sum;
}

double CostBound::evaluate(const Deadline& deadline, double price) const {
  return price * deadline.bytes + sum_roots(reduce(deadline.at, price));
}

// The bound is concave in the price.
void CostBound::set_price(Deadline& deadline) const {
  double dearest = 0;
  for (std::size_t i = 0; i < step_.modules.size(); ++i) {
    const auto freed = static_cast<double>(step_.modules[i].freed.count());
    if (freed > 0) dearest = std::max(dearest, costs_[i] / freed);
  }
  double low = 0, high = 2 * dearest;
  for (int round = 0; round < kNarrowings; ++round) {
    const double third = (high - low) / 3;
    if (evaluate(deadline, low + third) < evaluate(deadline, high - third)) {
      low += third;
    } else {
      high -= third;
    }
  }
  deadline.price = (low + high) / 2;
  deadline.least = std::max(0.0, evaluate(deadline, deadline.price));
}

void CostBound::set_rest(Deadline& deadline) const {
  const std::vector<double> reduced = reduce(deadline.at, deadline.price);
  deadline.rest.assign(step_.modules.size(), 0);
  const auto sum_after = [&](const std::vector<std::size_t>& siblings, double after) {
    for (std::size_t k = siblings.size(); k-- > 0;) {
      deadline.rest[siblings[k]] = after;
      after += reduced[siblings[k]];
    }
  };
  sum_after(children_.back(), 0);
  for (std::size_t i = 0; i < step_.modules.size(); ++i) sum_after(children_[i], deadline.rest[i]);
}

// The moments at which bytes must be free: at the end of forward, and at the backward of modules.
std::vector<CostBound::Deadline> CostBound::find_deadlines(Bytes budget) const {
  const std::size_t count = step_.modules.size();
  std::vector<Deadline> found;
  const auto add = [&](std::size_t at, Bytes level) {
    const Bytes missing = level - budget;
    if (missing > Bytes(0)) found.push_back({at, static_cast<double>(missing.count()), 0, 0, {}});
  };
  add(count, step_.end_peak);
  std::size_t fullest = count;
  for (std::size_t i = 0; i < count; ++i) {
    if (is_split(step_, children_[i])) continue;
    const bool is_fuller = fullest == count || step_.modules[i].backward_peak >= step_.modules[fullest].backward_peak;
    if (is_fuller) fullest = i;
    if (i % std::max<std::size_t>(1, count / kProbed) == 0) add(i, step_.modules[i].backward_peak);
  }
  if (fullest < count) add(fullest, step_.modules[fullest].backward_peak);
  return found;
}

}  // namespace vramfit::plan
