// What a run showed, out of the JSON of its result.
#ifndef VRAMFIT_INGEST_STORED_EVIDENCE_H
#define VRAMFIT_INGEST_STORED_EVIDENCE_H

#include <nlohmann/json_fwd.hpp>

#include "model/runtime_evidence.h"

namespace vramfit::ingest {

// The evidence as far as the version that wrote it had it. What is no such result is an nlohmann::json::exception.
model::RuntimeEvidence read_run_evidence(const nlohmann::json& result);

}  // namespace vramfit::ingest

#endif
