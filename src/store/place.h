// Where this user's history is kept, and what belongs beside it.
#ifndef VRAMFIT_STORE_PLACE_H
#define VRAMFIT_STORE_PLACE_H

#include <filesystem>
#include <optional>

#include "base/subprocess.h"

namespace vramfit::store {

// VRAMFIT_STORE (a file; "none": no history), else runs.db in XDG_DATA_HOME/vramfit or ~/.local/share/vramfit.
std::optional<std::filesystem::path> find_store(const base::Environment& environment);

}  // namespace vramfit::store

#endif
