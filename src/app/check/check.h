// The use case behind `vramfit check`: runs a job on a virtual card and compares it with a recording of a real one.
#ifndef VRAMFIT_APP_CHECK_CHECK_H
#define VRAMFIT_APP_CHECK_CHECK_H

#include <filesystem>
#include <vector>

#include "app/check/recorded.h"
#include "base/clock.h"
#include "job/learned.h"
#include "job/run.h"
#include "model/check.h"

namespace vramfit::app {

struct CheckRequest {
  job::RunRequest job;
  std::filesystem::path recording;  // for its name; what it holds was read already
  Recorded recorded;
  bool learn = false;  // what the recording tells of the card is looked for
};

struct CheckAnswer {
  model::CheckResult result;  // with what was learned
  job::Learned lesson;        // for whoever keeps it; empty unless it was asked for
};

// An error means that no run was possible; a job that fails is compared as far as it came, and that is said.
base::Result<CheckAnswer> check(const CheckRequest& request, job::Runner& runner, base::ProgressSink& progress,
                                const base::Clock& clock);

}  // namespace vramfit::app

#endif
