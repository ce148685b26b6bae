// The techniques of a plan, out of JSON that holds more than a plan.
#ifndef VRAMFIT_INGEST_PLAN_CHANGES_H
#define VRAMFIT_INGEST_PLAN_CHANGES_H

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/plan.h"

namespace vramfit::ingest {

// The list "techniques" of a plan file or of a result; `name` says whose in errors.
base::Result<std::vector<model::Change>> parse_changes(const nlohmann::json& techniques, std::string_view name);

}  // namespace vramfit::ingest

#endif
