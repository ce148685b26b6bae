// Runs the user's script with a plan applied, on the card itself.
#ifndef VRAMFIT_APP_FIT_PROVER_H
#define VRAMFIT_APP_FIT_PROVER_H

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "job/run.h"
#include "plan/search/search.h"

namespace vramfit::app {

// The phases that a run must go through, with the steps that the job without a plan takes of each. Those of a loop that
// updates its weights by hand are not seen.
using PhaseSteps = std::map<std::string, std::int64_t>;

// A run counts as a proof when every change of the plan said that it was applied, and the run went through every phase
// that the job has.
plan::Proof judge(const job::RunOutcome& outcome, const model::Plan& plan, const PhaseSteps& phases);

// How many training steps a run took that left nothing out. Nothing: it left something out.
std::optional<std::int64_t> whole_steps_of(const model::RunResult& result);

// Phases with steps of their own: a run that is a proof must go through them. Saving may be rarer than a cut run.
PhaseSteps phases_to_see(const model::Job& job);

class RunProver final : public plan::Prover {
 public:
  // `folder` is where plan files for the runs are written; the caller removes it.
  RunProver(job::RunRequest request, PhaseSteps phases, std::filesystem::path folder, job::Runner& runner);
  base::Result<plan::Proof> prove(const model::Plan& plan, double seconds_left) override;
  // Starts the run that `prove` of the same plan will wait for, where there is a processor for it.
  void begin(const model::Plan& plan, double seconds_left);
  // Steps of training that the job as it is takes from its start to its own end: a plan that keeps its batches takes as
  // many.
  void expect_steps(std::int64_t steps) { whole_steps_ = steps; }

 private:
  base::Result<job::RunRequest> request_of(const model::Plan& plan, double seconds_left);

  job::RunRequest request_;
  const PhaseSteps phases_;
  const std::filesystem::path folder_;
  job::Runner& runner_;
  int number_ = 0;
  std::optional<std::int64_t> whole_steps_;
  std::vector<std::pair<model::Plan, job::RunRequest>> begun_;
};

}  // namespace vramfit::app

#endif
