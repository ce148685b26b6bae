#include "app/fit/measurement.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "app/fit/prover.h"
#include "facts/allocation_stream.h"
#include "facts/job_builder.h"
#include "ingest/plan_file.h"
#include "plan/measured_shares.h"

namespace vramfit::app {

base::Result<Measurement> measure_change(job::Runner& runner, job::RunRequest plenty, const model::Change& change,
                                         const std::filesystem::path& plan_file, model::Job& job) {
  const model::Plan plan{change.technique, {change}};
  const std::string key = plan::measured_key(change);
  if (auto written = ingest::write_plan(plan_file, plan); !written) return std::unexpected(written.error());
  plenty.plan = plan_file;
  const auto outcome = runner.run(plenty, base::silent_progress());
  if (!outcome) return std::unexpected(outcome.error());
  if (outcome->result.interrupted) return base::fail(base::ErrorCode::kInterrupted, "interrupted");
  Measurement measurement{"", outcome->result.wall_seconds};
  const plan::Proof proof = judge(*outcome, plan, {});
  switch (proof.outcome) {
    case plan::Outcome::kRefused:
      measurement.obstacle = proof.detail;
      break;
    case plan::Outcome::kFailed:
      measurement.obstacle = "the script broke with it: " + proof.detail;
      break;
    case plan::Outcome::kFits:
    case plan::Outcome::kBorderline:
      job.measured[key] = facts::find_stage_peaks(*outcome->facts, job.device);
      job.measured_work[key] = facts::count_step_work(*outcome->facts, job.device);
      job.streams[key] = facts::find_allocation_stream(*outcome->facts, job.device, outcome->result.torch);
      break;
    case plan::Outcome::kOutOfMemory:
    case plan::Outcome::kTimedOut:
      break;
  }
  return measurement;
}

}  // namespace vramfit::app
