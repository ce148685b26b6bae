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

namespace {

model::Plan plan_of(const model::Change& change) { return {change.technique, {change}}; }

}  // namespace

base::Result<job::RunRequest> prepare_measurement(job::RunRequest plenty, const model::Change& change,
                                                  const std::filesystem::path& plan_file) {
  if (auto written = ingest::write_plan(plan_file, plan_of(change)); !written) return std::unexpected(written.error());
  plenty.plan = plan_file;
  return plenty;
}

base::Result<Measurement> measure_change(job::Runner& runner, job::RunRequest plenty, const model::Change& change,
                                         const std::filesystem::path& plan_file, model::Job& job) {
  const auto request = prepare_measurement(std::move(plenty), change, plan_file);
  if (!request) return std::unexpected(request.error());
  return measure_prepared(runner, *request, change, job);
}

base::Result<Measurement> measure_prepared(job::Runner& runner, const job::RunRequest& request,
                                           const model::Change& change, model::Job& job) {
  const std::string key = plan::measured_key(change);
  const auto outcome = runner.run(request, base::silent_progress());
  if (!outcome) return std::unexpected(outcome.error());
  if (outcome->result.interrupted) return base::fail(base::ErrorCode::kInterrupted, "interrupted");
  Measurement measurement{"", outcome->result.wall_seconds};
  const plan::Proof proof = judge(*outcome, plan_of(change), {});
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
      job.measured_work[key] = outcome->facts->work_on(job.device);
      job.streams[key] = facts::find_allocation_stream(*outcome->facts, job.device, outcome->result.torch);
      break;
    case plan::Outcome::kOutOfMemory:
    case plan::Outcome::kTimedOut:
      break;
  }
  return measurement;
}

}  // namespace vramfit::app
