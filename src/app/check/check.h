// The use case behind `vramfit check`: runs a job on a virtual card and compares it with a recording of a real one.
#ifndef VRAMFIT_APP_CHECK_CHECK_H
#define VRAMFIT_APP_CHECK_CHECK_H

#include <filesystem>
#include <optional>

#include "app/check/recorded.h"
#include "app/run.h"
#include "base/clock.h"
#include "model/check.h"

namespace vramfit::app {

struct CheckRequest {
  RunRequest job;
  std::filesystem::path recording;  // for its name; what it holds was read already
  Recorded recorded;
};

// An error means that no run was possible; a job that fails is compared as far as it came, and that is said.
base::Result<model::CheckResult> check(const CheckRequest& request, Runner& runner, base::ProgressSink& progress,
                                       const base::Clock& clock);

}  // namespace vramfit::app

#endif
