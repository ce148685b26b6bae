// Recordings and notes of one run with memory to spare -> the facts that plans are made from.
//
// Runs on a card raised far beyond the job's needs show the whole step; the first run on the real card, which usually
// dies halfway, only says that it does not fit.
#ifndef VRAMFIT_FACTS_JOB_BUILDER_H
#define VRAMFIT_FACTS_JOB_BUILDER_H

#include <optional>
#include <span>
#include <vector>

#include "facts/run_facts.h"
#include "model/job.h"
#include "model/run_result.h"

namespace vramfit::facts {

// `facts` are of the run that `result` came from; what is said of memory is of its fullest card.
model::Job build_job(const RunFacts& facts, const model::RunResult& result);

// The parts, each from one source.
void read_notes(const RunFacts& facts, model::Job& job);
std::vector<model::StagePeak> find_stage_peaks(const RunFacts& facts, int device);
std::optional<model::KeptTrainingTensors> find_kept_training_tensors(const RunFacts& facts, int device);
std::optional<model::StepModules> find_step_modules(const RunFacts& facts, int device);

}  // namespace vramfit::facts

#endif
