// Runs that each measure one technique, with plenty of memory, in place of the model's idea of it: those whose plans
// would come first before others, and each once for all searches of a fit.
#ifndef VRAMFIT_APP_FIT_TECHNIQUE_RUNS_H
#define VRAMFIT_APP_FIT_TECHNIQUE_RUNS_H

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/fit/context.h"
#include "model/job.h"
#include "plan/search/candidate.h"
#include "plan/technique.h"

namespace vramfit::app {

class TechniqueRuns {
 public:
  // Plan files are written to `folder`. All of these outlive it.
  TechniqueRuns(FitContext& fit, std::vector<const plan::Technique*>& techniques, model::Job& job,
                std::filesystem::path folder)
      : fit_(fit), techniques_(techniques), job_(job), folder_(std::move(folder)) {}

  // The least rank behind `after` that a plan has with a technique that a run would measure, and none has yet. Plans of
  // ranks before it are foreseen as well as they will be. kBeyondAll: nothing is left to measure, or no time for it.
  plan::Rank least_unmeasured(std::optional<plan::Rank> after = std::nullopt) const;

  // The least rank, from `from` on, of which a plan is foreseen to fit without measuring more.
  plan::Rank find_foreseen(plan::Rank from) const;

  // Measures the techniques of ranks up to this one, and takes away those that the script breaks with or refuses.
  base::Result<void> measure(plan::Rank last);
  // Makes the runs that show last uses to techniques of ranks before this one, whose plans are about to be run: without
  // them a plan that does not fit is foreseen to. Tells whether it made any.
  base::Result<bool> show_last_uses(plan::Rank before);
  // The same as measure(), but where some of these techniques can't be foretold well without a run, only those.
  base::Result<void> measure_first_needed(plan::Rank last);

 private:
  struct Run;  // a change on its own with plenty of memory

  bool has_time() const;
  bool is_unmeasured(const plan::Technique& technique) const;
  bool is_needed(const plan::Technique& technique) const;
  std::vector<Run> find_runs(const plan::Technique& technique) const;
  std::vector<Run> find_runs(plan::Rank last) const;
  base::Result<void> measure(std::vector<Run> runs);
  base::Result<void> begin(Run& run);
  void leave_out(const plan::Technique* technique, const std::string& obstacle);

  FitContext& fit_;
  std::vector<const plan::Technique*>& techniques_;
  model::Job& job_;
  const std::filesystem::path folder_;
  std::set<std::string> measured_;  // ids of techniques
  std::set<std::string> run_;       // keys of changes that were run (plan::measured_key)
  int files_ = 0;
};

}  // namespace vramfit::app

#endif
