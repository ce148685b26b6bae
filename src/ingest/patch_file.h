// What python/vramfit/patch leaves in the run folder: patch.PID.json of each process that trained or evaluated.
#ifndef VRAMFIT_INGEST_PATCH_FILE_H
#define VRAMFIT_INGEST_PATCH_FILE_H

#include <filesystem>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "model/patch.h"

namespace vramfit::ingest {

base::Result<model::Patch> parse_patch(std::string_view text, std::string_view name);

// Reads the patch of the process whose source takes most of the plan; none when no process left one.
base::Result<std::optional<model::Patch>> read_patch(const std::filesystem::path& run_folder);

}  // namespace vramfit::ingest

#endif
