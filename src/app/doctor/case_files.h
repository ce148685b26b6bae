// Files that the doctor is given: logs, reports of VRAMFIT_ON_OOM, snapshots.
#ifndef VRAMFIT_APP_DOCTOR_CASE_FILES_H
#define VRAMFIT_APP_DOCTOR_CASE_FILES_H

#include <filesystem>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/progress.h"
#include "doctor/case.h"

namespace vramfit::app {

// What files told, read once: a pipe has nothing more to say, and a log of a gigabyte takes its time.
struct CaseFiles {
  doctor::Case told;
  std::optional<base::Error> error;  // the first; none of them could be read where `read` is 0
  int read = 0;
};

// Reads each path ("-": standard input). A file that can't be read is a sentence of `told.unread`.
CaseFiles read_case_files(const std::vector<std::filesystem::path>& paths, base::ProgressSink& progress);

}  // namespace vramfit::app

#endif
