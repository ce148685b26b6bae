// Lines by which a text is known to be of a job of several processes: torchrun's words, or those of Slurm and MPI,
// which start one process too and are then no sign.
#ifndef VRAMFIT_DOCTOR_LAUNCHER_LINES_H
#define VRAMFIT_DOCTOR_LAUNCHER_LINES_H

#include <cstdint>
#include <optional>
#include <string_view>

#include "doctor/scene.h"

namespace vramfit::doctor {

// "torchrun --nproc_per_node=4", "SLURM_PROCID=3", "MEMBER: 1/4", or the labels of `srun --label`.
std::optional<model::SourceLine> find_launcher_line(const model::TextFile& file);

// The line by which the text itself names a process as one of the job's own, whoever started it: "process 4001 spawned
// with command", "Killing subprocess 4001", "Sending process 4001 closing signal", "local_rank: 1 (pid: 4001)".
std::optional<model::SourceLine> find_line_of_own_process(const model::TextFile& file, std::int64_t pid);

// The LOCAL_RANK of the process that a launcher says has failed, where it names one: of "failed (exitcode: 1)
// local_rank: 3" and "Command '[..., '--local_rank=3']' returned non-zero exit status 1.".
struct FailedRank {
  int local_rank = 0;
  model::SourceLine at;
};
std::optional<FailedRank> find_failed_rank(const model::TextFile& file);

// Whether Slurm starts the processes, which knows no LOCAL_RANK.
bool is_started_by_slurm(const model::TextFile& file);

}  // namespace vramfit::doctor

#endif
