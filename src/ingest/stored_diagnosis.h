// A stored diagnosis (what `vramfit doctor --json` writes) back as the values that it was written from.
#ifndef VRAMFIT_INGEST_STORED_DIAGNOSIS_H
#define VRAMFIT_INGEST_STORED_DIAGNOSIS_H

#include <string_view>

#include "base/error.h"
#include "model/finding.h"

namespace vramfit::ingest {

// The diagnosis without its facts.
base::Result<model::Diagnosis> read_stored_diagnosis(std::string_view json);

}  // namespace vramfit::ingest

#endif
