// The modules of a run's result: the fields module_... of docs/run.schema.json.
#ifndef VRAMFIT_REPORT_MODULES_JSON_H
#define VRAMFIT_REPORT_MODULES_JSON_H

#include <nlohmann/json_fwd.hpp>

#include "model/modules.h"

namespace vramfit::report {

nlohmann::ordered_json modules_to_json(const model::ModuleTable& table);

}  // namespace vramfit::report

#endif
