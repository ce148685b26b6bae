#include "plan/recompute/solver.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "plan/testing/example_step.h"

namespace vramfit::plan {
namespace {

// Every set there is, judged by the simulation of the step alone.
std::optional<double> find_least_cost(const model::StepModules& step, const std::vector<double>& costs, Bytes budget) {
  std::optional<double> least;
  for (std::size_t set = 0; set < std::size_t{1} << step.modules.size(); ++set) {
    std::vector<std::size_t> chosen;
    double cost = 0;
    bool may = true;
    for (std::size_t i = 0; i < step.modules.size(); ++i) {
      if ((set >> i & 1U) == 0) continue;
      chosen.push_back(i);
      cost += costs[i];
      may = may && step.modules[i].may_repeat && step.modules[i].freed > Bytes(0);
    }
    if (!may || peak_with(step, chosen) > budget) continue;
    least = std::min(least.value_or(cost), cost);
  }
  return least;
}

struct RandomStep {
  model::StepModules step;
  std::vector<double> costs;
};

class StepMaker {
 public:
  explicit StepMaker(unsigned seed) : random_(seed) {}

  RandomStep make(bool with_stages) {
    StepBuilder builder;
    const int groups = draw(2, with_stages ? 3 : 10);
    for (int i = 0; i < groups; ++i) {
      const std::string name = "g" + std::to_string(i);
      if (!with_stages || draw(0, 2) == 0) {
        add(builder, name, -1);
        continue;
      }
      const std::size_t stage = builder.open(name, -1);
      const int inside = draw(2, 3);
      for (int k = 0; k < inside; ++k) add(builder, name + "." + std::to_string(k), static_cast<int>(stage));
      builder.close(stage, Bytes(draw(0, 20)));
    }
    RandomStep made{builder.take(Bytes(draw(0, 30))), {}};
    for (model::StepModule& module : made.step.modules) {
      if (draw(0, 9) == 0) module.may_repeat = false;
      made.costs.push_back(draw(1, 40));
    }
    return made;
  }

  int draw(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }

 private:
  void add(StepBuilder& builder, const std::string& name, int parent) {
    const int saved = draw(1, 100);
    builder.add(name, parent, Bytes(saved), Bytes(draw(0, saved)), Bytes(draw(0, 30)), Bytes(draw(0, 40)));
  }

  std::mt19937 random_;
};

void expect_least_cost(const RandomStep& made, Bytes budget, unsigned seed) {
  const auto least = find_least_cost(made.step, made.costs, budget);
  const RepeatAnswer answer = find_repeats(made.step, made.costs, budget);
  ASSERT_EQ(answer.repeats.has_value(), least.has_value()) << "seed " << seed << ", budget " << budget.count();
  EXPECT_TRUE(answer.is_proven);
  if (!least) return;
  EXPECT_NEAR(answer.repeats->cost, *least, 1e-6) << "seed " << seed << ", budget " << budget.count();
  EXPECT_NEAR(answer.repeats->bound, *least, 1e-6) << "seed " << seed;
  EXPECT_LE(peak_with(made.step, answer.repeats->modules), budget);
}

TEST(Repeats, of_small_chains_cost_what_the_best_of_all_sets_costs) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    const RandomStep made = StepMaker(seed).make(/*with_stages=*/false);
    for (int tenth = 2; tenth <= 10; ++tenth) {
      expect_least_cost(made, Bytes(made.step.peak.count() * tenth / 10), seed);
    }
  }
}

TEST(Repeats, of_small_trees_cost_what_the_best_of_all_nested_sets_costs) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    const RandomStep made = StepMaker(seed).make(/*with_stages=*/true);
    for (int tenth = 2; tenth <= 10; ++tenth) {
      expect_least_cost(made, Bytes(made.step.peak.count() * tenth / 10), seed);
    }
  }
}

TEST(Repeats, what_frees_nothing_of_the_peak_is_never_chosen) {
  StepBuilder builder;
  builder.add("conv", -1, Bytes(100), Bytes(100));
  builder.add("bn", -1, Bytes(40), Bytes(40));
  builder.add("block", -1, Bytes(300), Bytes(50));
  builder.add("maxpool", -1, Bytes(200), Bytes(200));
  builder.add("fc", -1, Bytes(1), Bytes(0));
  const auto step = builder.take();
  const auto answer = find_repeats(step, {1e-3, 1e-3, 1, 1e-3, 1e-3}, Bytes(step.peak.count() - 100));
  ASSERT_TRUE(answer.repeats);
  EXPECT_EQ(answer.repeats->modules, std::vector<std::size_t>{2});
}

TEST(Repeats, are_none_where_the_step_fits_and_none_are_found_below_the_least) {
  const auto step = example_chain(4, 100, 10);
  const std::vector<double> costs(4, 1);
  EXPECT_TRUE(find_repeats(step, costs, step.peak).repeats->modules.empty());
  EXPECT_FALSE(find_repeats(step, costs, Bytes::mib(129)).repeats);
  EXPECT_EQ(find_least_peak(step, costs), Bytes::mib(130));
}

TEST(Repeats, of_equal_modules_are_counted_not_combined) {
  const auto step = example_chain(2500, 100, 10);
  const std::vector<double> costs(2500, 1);
  const auto answer = find_repeats(step, costs, Bytes::mib(250000 - 90 * 1000));
  ASSERT_TRUE(answer.repeats);
  EXPECT_EQ(answer.repeats->modules.size(), 1000U);
  EXPECT_EQ(answer.repeats->gap(), 0);
}

TEST(Repeats, of_many_modules_come_with_a_proven_gap) {
  StepMaker maker(7);
  StepBuilder builder;
  std::vector<double> costs;
  for (int i = 0; i < 2500; ++i) {
    const int saved = maker.draw(1 << 10, 100 << 10);
    builder.add("m" + std::to_string(i), -1, Bytes(saved * 512), Bytes(saved * maker.draw(50, 450)));
    costs.push_back(maker.draw(1, 1000) / 1e5);
  }
  const auto step = builder.take();
  for (const int percent : {50, 70, 90}) {
    const Bytes budget(step.peak.count() / 100 * percent);
    const auto answer = find_repeats(step, costs, budget, {200});
    ASSERT_TRUE(answer.repeats) << percent;
    EXPECT_LE(peak_with(step, answer.repeats->modules), budget);
    EXPECT_GE(answer.repeats->gap(), 0);
    EXPECT_LT(answer.repeats->gap(), 0.01) << percent;
  }
}

}  // namespace
}  // namespace vramfit::plan
