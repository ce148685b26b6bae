// Lines by which a text is known to be of a job of several processes: torchrun's words, or those of Slurm and MPI,
// which start one process too and are then no sign.
#ifndef VRAMFIT_DOCTOR_LAUNCHER_LINES_H
#define VRAMFIT_DOCTOR_LAUNCHER_LINES_H

#include <optional>
#include <string_view>

#include "doctor/scene.h"

namespace vramfit::doctor {

// "torchrun --nproc_per_node=4", "SLURM_PROCID=3", "MEMBER: 1/4", or the labels of `srun --label`.
std::optional<model::SourceLine> find_launcher_line(const model::TextFile& file);

// Whether Slurm starts the processes, which knows no LOCAL_RANK.
bool is_started_by_slurm(const model::TextFile& file);

}  // namespace vramfit::doctor

#endif
