// Runs the job with one change and plenty of memory, to measure what it then holds: for techniques whose effect can't
// be predicted well.
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

// The request of its run, with its plan in `plan_file`. `plenty` is a request whose cards are far larger than the job.
base::Result<job::RunRequest> prepare_measurement(job::RunRequest plenty, const model::Change& change,
                                                  const std::filesystem::path& plan_file);

// Adds what the run showed to job.measured, if it showed anything.
base::Result<Measurement> measure_prepared(job::Runner& runner, const job::RunRequest& request,
                                           const model::Change& change, model::Job& job);

// Both.
base::Result<Measurement> measure_change(job::Runner& runner, job::RunRequest plenty, const model::Change& change,
                                         const std::filesystem::path& plan_file, model::Job& job);

}  // namespace vramfit::app

#endif
