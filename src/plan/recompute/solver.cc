#include "plan/recompute/solver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "plan/recompute/bound.h"

namespace vramfit::plan {
namespace {

constexpr double kNoCost = std::numeric_limits<double>::infinity();
constexpr std::int64_t kStart = -1;
constexpr std::size_t kFirstWalk = 64;  // answers carried by the walk that finds a good one to begin with
// Sums of costs in another order differ by so much; an answer that is better by less is not.
constexpr double kSameCost = 1e-9;

// How an answer came about: modules run again, the last first.
struct Footstep {
  std::int64_t before = kStart;
  std::int64_t inside = kStart;  // the trail within this module, of a nested answer
  std::size_t module = 0;
};

struct Partial {
  Bytes freed;
  double cost = 0;
  std::int64_t trail = kStart;
  std::optional<Footstep> next = {};  // the trail's last, kept once the answer is
};

class RepeatWalk {
 public:
  RepeatWalk(const model::StepModules& step, const std::vector<double>& costs, Bytes budget, const CostBound& bound,
             std::size_t most_answers, double best_known)
      : step_(step),
        costs_(costs),
        budget_(budget),
        bound_(bound),
        most_(most_answers),
        best_known_(best_known),
        children_(find_children(step)) {
    enough_ = step.end_peak - budget;
    for (const model::StepModule& module : step.modules) {
      const Bytes highest = std::max(
          {module.forward_peak + std::max(module.repeat_rise, Bytes()), module.after_peak, module.backward_peak});
      enough_ = std::max(enough_, highest + module.repeat_rise - budget);
    }
  }

  std::optional<Repeats> run() {
    std::vector<Partial> answers = walk(children_.back(), {Partial{}}, Bytes(), /*is_nested=*/false);
    keep_those_that_free(step_.end_peak - budget_, answers);
    if (answers.empty()) return std::nullopt;
    const auto best = std::ranges::min_element(answers, {}, &Partial::cost);
    Repeats repeats{{}, best->cost, std::min(best->cost, dropped_)};
    follow(best->trail, repeats.modules);
    std::ranges::sort(repeats.modules);
    return repeats;
  }

  double dropped() const { return dropped_; }  // the least bound of what was given up; infinite: nothing was

 private:
  using Answers = std::vector<Partial>;

  Answers walk(const std::vector<std::size_t>& siblings, Answers answers, Bytes rise, bool is_nested) {
    for (const std::size_t index : siblings) {
      if (answers.empty()) break;
      answers = pass(index, answers, rise, is_nested);
      keep_those_that_free(step_.modules[index].after_peak + rise - budget_, answers);
      prune(index, is_nested, answers);
    }
    return answers;
  }

  // Each answer goes on without the module, with it, or with modules inside it.
  Answers pass(std::size_t index, const Answers& before, Bytes rise, bool is_nested) {
    const model::StepModule& module = step_.modules[index];
    Answers after;
    const bool has_insides = is_split(step_, children_[index]);
    if (has_insides) {
      after = walk(children_[index], before, rise, is_nested);
    } else {
      after = before;
      keep_those_that_free(std::max(module.forward_peak + rise, module.backward_peak) - budget_, after);
    }
    if (!module.may_repeat || module.freed <= Bytes(0)) return after;
    const Bytes again = std::max(rise, module.repeat_rise);
    const Bytes needed = std::max(module.forward_peak + again, module.backward_peak) - budget_;
    for (const Partial& answer : before) {
      if (answer.cost + costs_[index] > best_known_ * (1 + kSameCost)) continue;
      if (answer.freed >= needed) {
        after.push_back(repeated(answer, index, kStart, 0));
      } else if (has_insides) {
        add_nested(answer, index, again, after);
      }
    }
    return after;
  }

  void add_nested(const Partial& answer, std::size_t index, Bytes again, Answers& after) {
    const Answers inner = walk(children_[index], {Partial{answer.freed}}, again, /*is_nested=*/true);
    if (inner.empty()) return;
    const auto best = std::ranges::min_element(inner, {}, &Partial::cost);
    after.push_back(repeated(answer, index, best->trail, best->cost));
  }

  Partial repeated(const Partial& answer, std::size_t index, std::int64_t inside, double cost_inside) {
    const Bytes freed = std::min(answer.freed + step_.modules[index].freed, std::max(enough_, answer.freed));
    return {freed, answer.cost + costs_[index] + cost_inside, answer.trail, Footstep{answer.trail, inside, index}};
  }

  static void keep_those_that_free(Bytes needed, Answers& answers) {
    std::erase_if(answers, [&](const Partial& answer) { return answer.freed < needed; });
  }

  void prune(std::size_t index, bool is_nested, Answers& answers) {
    std::ranges::sort(answers, [](const Partial& left, const Partial& right) {
      return left.freed != right.freed ? left.freed > right.freed : left.cost < right.cost;
    });
    double cheapest = kNoCost;
    std::erase_if(answers, [&](const Partial& answer) {
      const bool is_beaten = answer.cost >= cheapest * (1 - kSameCost);
      if (!is_beaten) cheapest = answer.cost;
      return is_beaten;
    });
    // Within a nested run the deadlines of the bound are not those of the step.
    const auto least = [&](const Partial& answer) {
      return is_nested ? answer.cost : bound_.of_rest(index, answer.freed, answer.cost);
    };
    std::erase_if(answers, [&](const Partial& answer) { return least(answer) > best_known_ * (1 + kSameCost); });
    if (answers.size() > most_) {
      std::ranges::nth_element(answers, answers.begin() + static_cast<std::ptrdiff_t>(most_), {}, least);
      for (std::size_t i = most_; i < answers.size(); ++i) {
        dropped_ = std::min(dropped_, is_nested ? 0 : least(answers[i]));
      }
      answers.resize(most_);
    }
    for (Partial& answer : answers) settle(answer);
  }

  void settle(Partial& answer) {
    if (!answer.next) return;
    footsteps_.push_back(*answer.next);
    answer.trail = static_cast<std::int64_t>(footsteps_.size()) - 1;
    answer.next.reset();
  }

  void follow(std::int64_t trail, std::vector<std::size_t>& modules) const {
    for (; trail != kStart; trail = footsteps_[static_cast<std::size_t>(trail)].before) {
      const Footstep& footstep = footsteps_[static_cast<std::size_t>(trail)];
      modules.push_back(footstep.module);
      follow(footstep.inside, modules);
    }
  }

  const model::StepModules& step_;
  const std::vector<double>& costs_;
  const Bytes budget_;
  const CostBound& bound_;
  const std::size_t most_;
  const double best_known_;
  std::vector<std::vector<std::size_t>> children_;
  std::vector<Footstep> footsteps_;
  Bytes enough_;  // freeing more than this is no use
  double dropped_ = kNoCost;
};

}  // namespace

RepeatAnswer find_repeats(const model::StepModules& step, const std::vector<double>& costs, Bytes budget,
                          const RepeatLimits& limits) {
  const CostBound bound(step, costs, budget);
  RepeatWalk quick(step, costs, budget, bound, std::min(kFirstWalk, limits.most_answers), kNoCost);
  std::optional<Repeats> first = quick.run();
  if (first && quick.dropped() == kNoCost) return {std::move(first), true};
  RepeatWalk walk(step, costs, budget, bound, limits.most_answers, first ? first->cost : kNoCost);
  std::optional<Repeats> found = walk.run();
  const bool is_whole = walk.dropped() == kNoCost;
  if (!found || (first && first->cost < found->cost)) {
    if (!first) return {std::nullopt, is_whole};
    first->bound = is_whole ? first->cost : std::min(first->cost, walk.dropped());
    found = std::move(first);
  }
  found->bound = std::min(found->cost, std::max(found->bound, bound.of_all()));
  if (found->bound >= found->cost * (1 - kSameCost)) found->bound = found->cost;
  return {std::move(found), true};
}

Bytes find_least_peak(const model::StepModules& step, const std::vector<double>& costs) {
  Bytes low, high = peak_with(step, {});  // `high` is reached
  const Bytes close = Bytes(std::max<std::int64_t>(1, high.count() / 1000));
  while (high - low > close) {
    const Bytes middle(low.count() + (high - low).count() / 2);
    const auto answer = find_repeats(step, costs, middle, {kFirstWalk});
    if (answer.repeats) {
      high = peak_with(step, answer.repeats->modules);
    } else {
      low = middle;
    }
  }
  return high;
}

}  // namespace vramfit::plan
