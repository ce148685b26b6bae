// One change on its own with plenty of memory: what the job then holds, for techniques that no model foretells well.
#ifndef VRAMFIT_APP_FIT_MEASUREMENT_H
#define VRAMFIT_APP_FIT_MEASUREMENT_H

#include <filesystem>
#include <string>

#include "job/run.h"
#include "model/job.h"
#include "model/plan.h"

namespace vramfit::app {

struct Measurement {
  std::string obstacle;  // why the change is not possible with this script; empty: it is, or nobody knows
  double wall_seconds = 0;
};

// `plenty` is a request whose cards are far larger than the job. Adds what it saw to job.measured; nothing when the run
// told nothing. `plan_file` is written.
base::Result<Measurement> measure_change(job::Runner& runner, job::RunRequest plenty, const model::Change& change,
                                         const std::filesystem::path& plan_file, model::Job& job);

}  // namespace vramfit::app

#endif
