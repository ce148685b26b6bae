// Recordings and notes of one run with memory to spare -> the facts that plans are made from.
//
// Runs on a card raised far beyond the job's needs show the whole step; the first run on the real card, which usually
// dies halfway, only says that it does not fit.
#ifndef VRAMFIT_PLAN_JOB_BUILDER_H
#define VRAMFIT_PLAN_JOB_BUILDER_H

#include <optional>
#include <span>

#include "model/job.h"
#include "model/recording.h"
#include "model/run_result.h"

namespace vramfit::plan {

// `recordings` are those of the run that `result` came from; the facts about memory are of its fullest card.
model::Job build_job(std::span<const model::Recording> recordings, const model::RunResult& result);

// The parts, each from one source.
void read_notes(std::span<const model::Recording> recordings, model::Job& job);
std::vector<model::Moment> find_moments(std::span<const model::Recording> recordings, int device);
std::optional<model::LeftoverFacts> find_leftovers(std::span<const model::Recording> recordings, int device);
model::StepWork count_step_work(std::span<const model::Recording> recordings, int device);

}  // namespace vramfit::plan

#endif
