// The variables a job runs with: docs/architecture.md says what each is for.
#ifndef VRAMFIT_JOB_CHILD_ENVIRONMENT_H
#define VRAMFIT_JOB_CHILD_ENVIRONMENT_H

#include "base/subprocess.h"
#include "job/cudnn_source.h"
#include "job/installation.h"
#include "job/run.h"

namespace vramfit::job {

struct ChildPlaces {
  std::filesystem::path ledger;  // empty on a real card
  std::filesystem::path run_folder;
  int cuda_major = 12;
  std::optional<CudnnSource> cudnn;
  bool is_layered = false;  // its files are a private layer's
};

// `user` with ours added; lists (LD_PRELOAD, PYTHONPATH ...) keep what the user had, behind ours.
base::Environment child_environment(base::Environment user, const Installation& installation, const RunRequest& request,
                                    const ChildPlaces& places);

// Every library and folder that the environment names must be there.
base::Result<void> check_parts(const Installation& installation, bool real, int cuda_major);

}  // namespace vramfit::job

#endif
