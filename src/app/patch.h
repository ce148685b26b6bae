// Writes a plan into the user's own source: one run with the plan tells the places, and the job's own Python changes
// its syntax tree there (python/vramfit/patch).
#ifndef VRAMFIT_APP_PATCH_H
#define VRAMFIT_APP_PATCH_H

#include <string>
#include <vector>

#include "base/error.h"
#include "base/progress.h"
#include "job/run.h"
#include "model/patch.h"

namespace vramfit::app {

struct PatchAnswer {
  model::Patch patch;
  std::vector<std::string> refused;  // changes that the run refused: the plan does not suit this script
};

// `request.plan` is the file of the plan. An error: the run did not come far enough to find the places.
base::Result<PatchAnswer> make_patch(const job::RunRequest& request, job::Runner& runner, base::ProgressSink& progress);

// Writes the changed files, each beside a copy of what it was, whose names it returns. Refuses, before anything is
// written, when a file is no longer what the run saw.
base::Result<std::vector<std::string>> write_patched(const model::Patch& patch);

}  // namespace vramfit::app

#endif
