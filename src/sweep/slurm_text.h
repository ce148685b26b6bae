// What Slurm's commands print, and what a sweep keeps of its jobs.
#ifndef VRAMFIT_SWEEP_SLURM_TEXT_H
#define VRAMFIT_SWEEP_SLURM_TEXT_H

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"

namespace vramfit::sweep {

using SlurmJobs = std::map<std::size_t, std::string>;  // by trial: the job that it is a task of

// Reads a sweep's slurm.json; `name` is for the error.
base::Result<SlurmJobs> parse_slurm_jobs(std::string_view text, const std::string& name);
std::string to_text(const SlurmJobs& jobs);

// "JOBID" or "JOBID;CLUSTER", perhaps behind warnings; empty: none is named.
std::string parse_submitted(const std::string& text);

// The tasks that `squeue --format="%K %T"` has waiting or running. A line of another kind is none of an array: "N/A".
std::set<std::size_t> parse_queue(const std::string& text);

}  // namespace vramfit::sweep

#endif
