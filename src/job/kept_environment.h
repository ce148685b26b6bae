// The Python environments vramfit keeps for those who have no torch of their own.
//
//   <cache>/envs/torch-2.12.1/         a virtual environment: torch, torchvision and their pure-Python needs
//   <cache>/envs/torch-2.12.1/vramfit.complete    written last: without it the environment is half made, and made anew
//   <cache>/envs/torch-2.12.1.lock     held (flock) by whoever makes or changes it
//   <cache>/fetched/torch-2.12.1-cp311 a wheel that tools/fetch_torch downloaded while vramfit was being built
//
// <cache> is $VRAMFIT_CACHE, else $XDG_CACHE_HOME/vramfit, else ~/.cache/vramfit: never the repository.
#ifndef VRAMFIT_JOB_KEPT_ENVIRONMENT_H
#define VRAMFIT_JOB_KEPT_ENVIRONMENT_H

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/progress.h"
#include "base/subprocess.h"
#include "job/interpreter.h"
#include "job/torch_releases.h"

namespace vramfit::job {

struct KeptEnvironment {
  std::string version;           // of torch, "2.12.1"
  std::filesystem::path folder;  // of the environment
  std::filesystem::path python() const { return folder / "bin" / "python"; }
};

base::Result<std::filesystem::path> find_cache(const base::Environment& environment);

// Every complete one.
std::vector<KeptEnvironment> list_kept_environments(const base::Environment& environment);

// The environment with this torch; made with `base_python` when it is not there. Two at once wait for each other.
base::Result<KeptEnvironment> provide_environment(const TorchRelease& release, const std::filesystem::path& base_python,
                                                  const base::Environment& environment, base::ProgressSink& progress);

// Installs packages into a kept environment, with dependencies but never another torch or NVIDIA's libraries.
base::Result<void> add_packages(const KeptEnvironment& kept, const std::vector<std::string>& packages,
                                const base::Environment& environment, base::ProgressSink& progress);

base::Result<void> remove_environment(const KeptEnvironment& kept);

}  // namespace vramfit::job

#endif
