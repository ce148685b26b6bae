// The use case behind `vramfit fit`: the cheapest changes that make a job fit a card, each proven by running it.
//
//   1 as is      the job on the card: it fits already, or it runs out
//   2 free run   the same card with far more memory: the whole step, its owners, its work (virtual memory is free)
//   3 search     plans by predicted cost, each run on the card itself (plan/search); or the largest batch
//   4 compare    the winner trains what the job trains: its first steps with and without it (verify.h)
//   5 answer     ranked plans, the winner's plan file and the command that applies it
#ifndef VRAMFIT_APP_FIT_FIT_H
#define VRAMFIT_APP_FIT_FIT_H

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "job/run.h"
#include "model/fit_result.h"
#include "plan/forecast.h"

namespace vramfit::app {

struct FitRequest {
  job::RunRequest run;               // the card, the command; `plan` stays empty
  std::string gpu;                   // as typed after --gpu, for the commands in the answer
  bool keep_effective_batch = true;  // --keep effective-batch | any
  model::FitGoal goal = model::FitGoal::kSameTraining;
  plan::Tier accept = plan::Tier::kAnother;  // --accept
  std::optional<double> max_slowdown;        // --max-slowdown
  std::vector<model::Card> catalogue;        // to look for other cards in; empty: nobody looks
  std::vector<std::string> only;             // --only: technique ids; empty = all
  std::vector<std::string> deny;             // --deny
  std::vector<std::string> phases;           // --phase: what acts in none of them is left alone; empty: all
  double budget_seconds = 60;   // for everything, the two first runs included; setting an environment up is not
  bool budget_is_firm = false;  // as asked for; otherwise a job or a machine whose runs are slow gets more
  bool verify = true;           // --no-verify: the best plan is not compared with the job as it is
  std::filesystem::path plan_out = "vramfit-plan.json";
};

// What `only` and `deny` may name.
std::vector<std::string> known_techniques();

// Errors are those of usage and of vramfit itself; whatever happens to the job is a result. A warm runner makes it
// several times faster.
base::Result<model::FitResult> fit(const FitRequest& request, job::Runner& runner, base::ProgressSink& progress,
                                   const base::Clock& clock);

}  // namespace vramfit::app

#endif
