// Runs the user's script with a plan applied, on the card itself.
#ifndef VRAMFIT_APP_FIT_PROVER_H
#define VRAMFIT_APP_FIT_PROVER_H

#include <filesystem>
#include <set>
#include <string>

#include "job/run.h"
#include "plan/search/search.h"

namespace vramfit::app {

// A run counts as a proof when every change of the plan said that it was applied, and the run went through every phase
// that the job has.
plan::Proof judge(const job::RunOutcome& outcome, const model::Plan& plan, const std::set<std::string>& phases);

// Phases with steps of their own: a run that is a proof must go through them. Saving may be rarer than a cut run.
std::set<std::string> phases_to_see(const model::Job& job);

class RunProver final : public plan::Prover {
 public:
  // `folder` is where plan files for the runs are written; the caller removes it.
  RunProver(job::RunRequest request, std::set<std::string> phases, std::filesystem::path folder, job::Runner& runner);
  base::Result<plan::Proof> prove(const model::Plan& plan, double seconds_left) override;

 private:
  job::RunRequest request_;
  const std::set<std::string> phases_;
  const std::filesystem::path folder_;
  job::Runner& runner_;
  int number_ = 0;
};

}  // namespace vramfit::app

#endif
