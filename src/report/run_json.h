// A run's result as JSON. docs/run.schema.json is the contract; sizes are exact bytes.
#ifndef VRAMFIT_REPORT_RUN_JSON_H
#define VRAMFIT_REPORT_RUN_JSON_H

#include <string>
#include <string_view>

#include "model/run_result.h"

namespace vramfit::report {

// `version` is vramfit's own.
std::string run_to_json(const model::RunResult& result, std::string_view version);

}  // namespace vramfit::report

#endif
