// Results that stand within others, before these are written as JSON.
#ifndef VRAMFIT_REPORT_JSON_MEMBERS_H
#define VRAMFIT_REPORT_JSON_MEMBERS_H

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "model/equivalence.h"
#include "model/run_result.h"

namespace vramfit::report {

// What run_to_json() writes.
nlohmann::ordered_json run_json(const model::RunResult& result, std::string_view version);

// The equivalence in a plan's row: {"class", "text", "steps", "checked", ...}.
nlohmann::ordered_json equivalence_json(const model::Equivalence& equivalence);

}  // namespace vramfit::report

#endif
