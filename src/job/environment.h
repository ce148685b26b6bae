// In which Python a job runs: the user's own when it has a CUDA build of torch or the job needs none (JAX, TensorFlow),
// else one that vramfit keeps.
#ifndef VRAMFIT_JOB_ENVIRONMENT_H
#define VRAMFIT_JOB_ENVIRONMENT_H

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/progress.h"
#include "base/subprocess.h"
#include "job/interpreter.h"
#include "model/card.h"

namespace vramfit::job {

struct EnvironmentRequest {
  std::vector<std::string> command;  // what stood after --
  std::optional<std::string> torch;  // --torch 2.6.0: a kept environment with that version, whatever the user has
  std::vector<model::Card> cards;    // what the kernels must run on; empty: any
  base::Environment environment;     // the user's own variables
};

struct JobEnvironment {
  std::vector<std::string> command;  // the request's, with the interpreter or launcher as an absolute path
  base::Environment environment;     // the request's; a kept environment is first in its PATH
  Interpreter
      interpreter;  // has a torch with CUDA; if the job does without one, `cuda` is the version of its CUDA runtime
  bool is_kept = false;                      // one of vramfit's own
  std::vector<std::string> notes;            // what the user must know about the choice, one sentence each
  std::vector<std::string> frameworks = {};  // of a job without torch: "jax 0.10.2"
};

// Finds, or makes, the environment for a command. Making one takes minutes and says so on `progress`.
base::Result<JobEnvironment> choose_environment(const EnvironmentRequest& request, base::ProgressSink& progress);

}  // namespace vramfit::job

#endif
