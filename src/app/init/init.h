// The use case behind `vramfit init`: looks at the machine and says what a training job would stumble over.
#ifndef VRAMFIT_APP_INIT_INIT_H
#define VRAMFIT_APP_INIT_INIT_H

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "job/interpreter.h"
#include "model/card.h"
#include "model/environment_check.h"
#include "model/machine.h"
#include "probe/limits.h"

namespace vramfit::app {

// Everything the checks look at.
struct InitFacts {
  model::MachineSample machine;
  base::Result<job::Interpreter> interpreter;
  std::map<std::string, model::ComputeCapability> capabilities;  // of the catalogue, by the name the driver gives
  std::map<std::string, std::string> variables;                  // of the environment
  probe::ProcessLimits limits;
  std::string container;
  std::optional<std::int64_t> cache_free_bytes, store_free_bytes, temporary_free_bytes;
  std::string cache_folder, store_folder, temporary_folder;
  std::optional<base::Error> store_problem;  // the history can't be opened
};

struct InitRequest {
  std::vector<std::string> command;  // whose Python is asked; empty: python3 of the PATH
  std::filesystem::path root = "/";  // what is taken for the file system's root: /proc, /sys, /dev/shm
};

InitFacts gather_facts(const InitRequest& request);

// One line for each check, always in the same order (checks.cc).
std::vector<model::EnvironmentCheck> check_environment(const InitFacts& facts);

}  // namespace vramfit::app

#endif
