// What the steps of one fit share: what is asked, the time that is left, and the answer as far as it is known.
#ifndef VRAMFIT_APP_FIT_CONTEXT_H
#define VRAMFIT_APP_FIT_CONTEXT_H

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/fit/active_clock.h"
#include "app/fit/fit.h"
#include "app/fit/span.h"
#include "base/progress.h"
#include "plan/search/search.h"

namespace vramfit::app {

// How much longer a run beyond the training loop takes than one that ends as soon as memory is steady.
inline constexpr double kWholeRunFactor = 1.5;

struct FitContext {
  FitContext(const FitRequest& asked, job::Runner& own_runner, base::ProgressSink& sink, const base::Clock& own_clock);

  double elapsed() const { return base::seconds_between(started_ns, clock.now_ns()); }
  double left() const { return std::max(0.0, result.budget_seconds - elapsed()); }
  // Seconds mean different things to different machines: unless the user said how many, a search gets what its runs
  // take here.
  void stretch_budget();
  bool is_out_of_time(const model::RunResult& run) const;

  // Predictions are made for one card: the one that lacks most memory.
  void aim_at(int card);

  // The job as it is, ended as soon as memory is steady.
  job::RunRequest quiet_request() const;
  // The same on cards with plenty.
  job::RunRequest plentiful_request() const;
  // A plan's first run: to where the script ends or has coasted for a while, if `trials_coast`; else only until memory
  // is steady.
  job::RunRequest trial_request() const;
  // Whether a trial is the short one of the two runs by which `vramfit run --plan` proves a plan. Those of a search for
  // the largest batch are not: they are many, and most of them fit.
  bool trials_coast() const;
  // Training steps of the job as it is, from start to end. Nothing: no run of it left none out.
  std::optional<std::int64_t> whole_steps() const;
  plan::OnTrial tell_trials();

  // How the progress calls a plan: others of that name, as checkpoints of as many blocks, are told apart by their
  // number.
  std::string name_to_tell(const model::Plan& plan);

  // Returns false: there is nothing more to do.
  bool conclude(model::FitVerdict verdict, std::string reason);

  const FitRequest& request;
  base::ProgressSink& progress;
  ActiveClock clock;
  WaitTrackingRunner runner;
  const std::int64_t started_ns;
  FitSpan span;
  plan::Target target;
  model::FitResult result;
  std::int64_t plenty_gib;
  std::optional<job::RunRequest> begun_free;     // the run with plenty, where it runs beside the job as it is
  std::optional<job::RunRequest> begun_in_full;  // the one over more batches, where it runs beside that
  std::vector<model::Plan> told;                 // in the progress, each once
};

base::Bytes limit_of(const job::CardChoice& card);

}  // namespace vramfit::app

#endif
