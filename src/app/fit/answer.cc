#include "app/fit/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <system_error>

#include "app/fit/plan_row.h"
#include "base/shell_word.h"
#include "ingest/plan_file.h"

namespace vramfit::app {
namespace {

using model::FitResult;
using model::FitVerdict;
using model::PlanStanding;

// Names the plan that came nearest: it may fit, but no run showed it.
std::string nearest_miss(const FitResult& result) {
  for (const auto standing :
       {PlanStanding::kTrainsElse, PlanStanding::kBorderline, PlanStanding::kTimedOut, PlanStanding::kBroke}) {
    // If all plans ran out at the same line, that line explains more than a single plan that broke the script.
    if (standing == PlanStanding::kBroke) {
      if (std::string wall = common_wall(result); !wall.empty()) return wall;
    }
    for (const model::PlanRow& row : result.lost) {
      if (row.standing == standing) return fmt::format("{}: {}", row.plan.name, row.reason);
    }
  }
  return "none of those that might fit could be run";
}

bool lost_all_that_fit(const FitResult& result) {
  return std::ranges::any_of(result.lost,
                             [](const model::PlanRow& row) { return row.standing == PlanStanding::kTrainsElse; });
}

// If no plan ran out of memory: what about the script kept plans from being applied. Empty: some plan ran out.
std::string only_refusals(const FitResult& result) {
  const auto has = [&](PlanStanding standing) {
    return std::ranges::find(result.lost, standing, &model::PlanRow::standing);
  };
  const auto refused = has(PlanStanding::kRefused);
  if (refused == result.lost.end() || has(PlanStanding::kDoesNotFit) != result.lost.end()) return "";
  return fmt::format("{}: {}", refused->plan.name, refused->reason);
}

}  // namespace

void set_verdict(const plan::SearchResult& found, bool no_techniques, FitResult& result) {
  if (!result.plans.empty()) {
    result.verdict = FitVerdict::kPlanFits;
  } else if (found.ending == plan::Ending::kInterrupted) {
    result.verdict = FitVerdict::kInterrupted;
  } else if (found.ending == plan::Ending::kBudgetUsed) {
    result.verdict = FitVerdict::kOutOfTime;
  } else if (found.ending == plan::Ending::kNothingProven || lost_all_that_fit(result)) {
    result.verdict = FitVerdict::kNotProven;
    result.reason = nearest_miss(result);
  } else {
    result.verdict = FitVerdict::kNothingFits;
    result.reason = no_techniques ? "none of the techniques can be applied to this script" : only_refusals(result);
  }
}

void write_answer(const FitRequest& request, FitResult& result) {
  const auto& path = request.plan_out;
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !ingest::read_plan(path)) {
    result.reason =
        fmt::format("{} exists and is not a plan: nothing was written; --plan-out names another file", path.string());
    return;
  }
  if (auto written = ingest::write_plan(path, result.plans.front().plan); !written) {
    result.reason = to_string(written.error());
    return;
  }
  result.plan_file = path.string();
  std::string command;
  for (const std::string& argument : request.run.command) command += " " + base::quote_for_shell(argument);
  const std::string file = base::quote_for_shell(result.plan_file);
  result.prove_command =
      fmt::format("vramfit run --gpu {} --plan {} --{}", base::quote_for_shell(request.gpu), file, command);
  result.patch_command =
      fmt::format("vramfit patch {} --gpu {} --{}", file, base::quote_for_shell(request.gpu), command);
  result.train_command = fmt::format("vramfit run --gpu real --plan {} --{}", file, command);
}

}  // namespace vramfit::app
