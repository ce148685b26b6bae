// The field `source` of a stored plan, a plan in the script's own source, as a value again.
#ifndef VRAMFIT_INGEST_STORED_PATCH_H
#define VRAMFIT_INGEST_STORED_PATCH_H

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "model/patch.h"

namespace vramfit::ingest {

// Keeps the diffs alone of its files. None where the plan has none. Throws nlohmann::json::exception on what is no
// such field.
std::optional<model::Patch> read_stored_patch(const nlohmann::json& plan);

}  // namespace vramfit::ingest

#endif
