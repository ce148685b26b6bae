// One virtual run of a job, laid beside the recording.
#ifndef VRAMFIT_APP_CHECK_COMPARED_RUN_H
#define VRAMFIT_APP_CHECK_COMPARED_RUN_H

#include <optional>

#include "app/check/check.h"
#include "app/check/partner.h"

namespace vramfit::app {

struct ComparedRun {
  model::CheckResult result;       // the comparison alone: whoever asks adds names and notes
  std::optional<Partner> partner;  // nothing: the run used no memory of a card
  job::RunOutcome outcome;
};

// `job` is the request's, or it with other workspaces.
base::Result<ComparedRun> compare_run(const CheckRequest& request, job::RunRequest job, job::Runner& runner,
                                      base::ProgressSink& progress);

}  // namespace vramfit::app

#endif
