// What any set of repeated modules costs at least: Lagrange's relaxation of "so many bytes must be free by then".
//
//   cost >= price x bytes + sum over modules before the deadline of min(0, its cost - price x what it frees)
//
// for every price of a byte; a module with modules inside takes the least of itself and the sum of those.
#ifndef VRAMFIT_PLAN_RECOMPUTE_BOUND_H
#define VRAMFIT_PLAN_RECOMPUTE_BOUND_H

#include <vector>

#include "plan/recompute/step_peak.h"

namespace vramfit::plan {

class CostBound {
 public:
  // costs: by module, of running it once more.
  CostBound(const model::StepModules& step, const std::vector<double>& costs, Bytes budget);

  double of_all() const { return least_; }
  // The bound of any answer that goes on from one in which all modules up to `last`, and all within it, are decided:
  // that one frees `freed` and costs `cost`.
  double of_rest(std::size_t last, Bytes freed, double cost) const;

 private:
  struct Deadline {
    std::size_t at;  // modules from this one on come too late; modules.size(): none does
    double bytes;    // to be free by then
    double price = 0;
    double least = 0;          // the bound itself
    std::vector<double> rest;  // by module: the sum over those that come after it
  };

  std::vector<double> reduce(std::size_t deadline, double price) const;
  double sum_roots(const std::vector<double>& reduced) const;
  double evaluate(const Deadline& deadline, double price) const;
  void set_price(Deadline& deadline) const;
  void set_rest(Deadline& deadline) const;
  std::vector<Deadline> find_deadlines(Bytes budget) const;

  const model::StepModules& step_;
  const std::vector<double>& costs_;
  std::vector<std::vector<std::size_t>> children_;
  std::vector<std::size_t> ends_;    // by module: one past the last inside it
  std::vector<Deadline> deadlines_;  // the sharpest
  double least_ = 0;
};

}  // namespace vramfit::plan

#endif
