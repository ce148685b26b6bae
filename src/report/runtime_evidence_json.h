// The evidence of a diagnosed run as JSON: `evidence` in docs/run.schema.json.
#ifndef VRAMFIT_REPORT_RUNTIME_EVIDENCE_JSON_H
#define VRAMFIT_REPORT_RUNTIME_EVIDENCE_JSON_H

#include <nlohmann/json_fwd.hpp>

#include "model/runtime_evidence.h"

namespace vramfit::report {

nlohmann::ordered_json evidence_to_json(const model::RuntimeEvidence& evidence);

}  // namespace vramfit::report

#endif
