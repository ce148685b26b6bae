// Processes of a job whose vramfit was killed.
#ifndef VRAMFIT_JOB_ORPHANED_JOBS_H
#define VRAMFIT_JOB_ORPHANED_JOBS_H

#include <filesystem>

namespace vramfit::job {

// Ends (SIGKILL) those that belong to the session of this run folder, as their environment says (VRAMFIT_RUN_DIR), and
// returns how many: what left the job's process group, and so survived it. Who may not be looked at is not ours.
int end_processes_of(const std::filesystem::path& run_folder);

}  // namespace vramfit::job

#endif
