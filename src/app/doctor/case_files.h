// Files that the doctor is given: logs, reports of VRAMFIT_ON_OOM, snapshots.
#ifndef VRAMFIT_APP_DOCTOR_CASE_FILES_H
#define VRAMFIT_APP_DOCTOR_CASE_FILES_H

#include <filesystem>

#include "base/error.h"

namespace vramfit::doctor {
struct Case;
}

namespace vramfit::app {

// Adds what `path` tells ("-": standard input).
base::Result<void> read_case_file(const std::filesystem::path& path, doctor::Case& into);

}  // namespace vramfit::app

#endif
