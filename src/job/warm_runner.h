// Runs jobs as forks of a Python that has imported torch: about a second less for each run.
#ifndef VRAMFIT_JOB_WARM_RUNNER_H
#define VRAMFIT_JOB_WARM_RUNNER_H

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "job/job_run.h"
#include "job/run.h"
#include "job/zygote.h"

namespace vramfit::job {

// Serves requests with one and the same command; their output never goes to the terminal. Commands that can't be run
// in a fork (torchrun, python -c) and a zygote that died are served cold.
class WarmRunner final : public Runner {
 public:
  base::Result<void> prepare(const RunRequest& request, base::ProgressSink& progress) override;
  RunRequest start(RunRequest request) override;
  base::Result<RunOutcome> run(const RunRequest& request, base::ProgressSink& progress) override;
  // Why the last run was a cold one; empty when it was warm.
  const std::string& cold_reason() const { return cold_reason_; }

 private:
  base::Result<RunOutcome> run_cold(const RunRequest& request, base::ProgressSink& progress, std::string reason);
  base::Result<RunOutcome> run_warm(const RunRequest& request, base::ProgressSink& progress);
  base::Result<void> start_zygote(const JobRun& run);
  void end_zygote();
  bool has_room() const;

  std::optional<JobSetup> setup_;
  std::vector<std::string> command_;  // that setup_ is for
  std::optional<PythonCommand> python_;
  struct Begun {
    JobRun run;
    ZygoteJob job;
    int id = 0;  // the zygote's
  };
  std::map<int, Begun> begun_;  // outlives the zygote, which ends its jobs
  int last_begun_ = 0;
  std::int64_t most_resident_ = 0;  // of the runs so far
  std::optional<Zygote> zygote_;
  bool is_unsuitable_ = false;  // this command is not for the zygote that several vramfits share
  RetryOptions kept_retry_;     // without them this command fails
  ColdRunner cold_;
  std::string cold_reason_;
};

}  // namespace vramfit::job

#endif
