// The fields module_... of a stored result, as values again.
#ifndef VRAMFIT_INGEST_STORED_MODULES_H
#define VRAMFIT_INGEST_STORED_MODULES_H

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "model/modules.h"

namespace vramfit::ingest {

// None where the run was made without --modules. Throws nlohmann::json::exception on what is no such table.
std::shared_ptr<const model::ModuleTable> read_modules(const nlohmann::json& result);

}  // namespace vramfit::ingest

#endif
