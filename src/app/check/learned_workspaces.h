// Learns from a recording what the convolutions of a job take as workspace on the card that was recorded.
//
// The job is run with workspaces that are marks, to know whose each recorded one is, and once more with those that were
// read so: they are believed only where that run is nearer to the recording than the first.
#ifndef VRAMFIT_APP_CHECK_LEARNED_WORKSPACES_H
#define VRAMFIT_APP_CHECK_LEARNED_WORKSPACES_H

#include <string>
#include <vector>

#include "app/check/compared_run.h"
#include "model/layer_workspace.h"

namespace vramfit::app {

struct WorkspaceLesson {
  std::vector<model::LayerWorkspace> workspaces;  // none: `note` says why
  ComparedRun run;                                // with them
  std::string note;
};

base::Result<WorkspaceLesson> learn_workspaces(const CheckRequest& request, const model::CheckResult& before,
                                               job::Runner& runner, base::ProgressSink& progress);

}  // namespace vramfit::app

#endif
