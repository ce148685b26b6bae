#include "verify/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace vramfit::verify {

using model::FitResult;
using model::FitVerdict;
using model::PlanRow;
using model::PlanStanding;

namespace {

class Check {
 public:
  explicit Check(const FitResult& result) : result_(result) {}

  std::vector<std::string> run() {
    check_verdict();
    for (const PlanRow& row : result_.plans) {
      check_winner(row);
      check_changes(row, {"denied", "not_possible", "in_force"});
    }
    // A technique may turn out to be impossible after plans with it were run.
    for (const PlanRow& row : result_.lost) {
      expect(!row.reason.empty(), row.plan.name + " is not the answer, without a reason");
      check_changes(row, {"denied"});
    }
    return std::move(wrong_);
  }

 private:
  void expect(bool holds, std::string otherwise) {
    if (!holds) wrong_.push_back(std::move(otherwise));
  }

  void check_verdict() {
    const bool proven = result_.verdict == FitVerdict::kPlanFits;
    expect(proven == !result_.plans.empty(),
           fmt::format("the verdict is {} with {} plans that fit", to_string(result_.verdict), result_.plans.size()));
    expect(proven || result_.plan_file.empty(), "a plan file was written without a plan that fits");
    if (result_.verdict == FitVerdict::kFitsAlready) {
      expect(result_.as_is.verdict == model::Verdict::kFits, "the job fits already, and its own run does not");
    }
    if (proven && result_.goal == model::FitGoal::kSameTraining)
      expect(result_.as_is.verdict != model::Verdict::kFits, "a plan for a job that fits as it is");
  }

  void check_winner(const PlanRow& row) {
    expect(row.standing == PlanStanding::kFits, row.plan.name + " stands among those that fit and does not");
    expect(row.proven.has_value(), row.plan.name + " is said to fit and was not run");
    if (row.proven && result_.cards == 1) {
      expect(row.proven->device <= result_.limit, fmt::format("{} fits with {} bytes of {}", row.plan.name,
                                                              row.proven->device.count(), result_.limit.count()));
    }
    if (row.proven) {
      expect(row.proven->allocated <= row.proven->reserved, row.plan.name + " allocates more than it reserves");
      expect(row.proven->reserved <= row.proven->device, row.plan.name + " reserves more than the card has in use");
    }
  }

  void check_changes(const PlanRow& row, const std::set<std::string>& excluded) {
    std::set<std::string> seen;
    for (const model::Change& change : row.plan.changes) {
      expect(seen.insert(change.technique).second, row.plan.name + " has " + change.technique + " twice");
      const auto standing = std::ranges::find(result_.techniques, change.technique, &model::TechniqueRow::id);
      if (standing == result_.techniques.end()) continue;
      expect(!excluded.contains(standing->standing),
             fmt::format("{} has {}, which is {}", row.plan.name, change.technique, standing->standing));
    }
  }

  const FitResult& result_;
  std::vector<std::string> wrong_;
};

}  // namespace

std::vector<std::string> check_fit(const FitResult& result) { return Check(result).run(); }

}  // namespace vramfit::verify
