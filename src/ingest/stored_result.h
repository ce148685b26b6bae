// A stored result (docs/run.schema.json) back as the values that it was written from.
#ifndef VRAMFIT_INGEST_STORED_RESULT_H
#define VRAMFIT_INGEST_STORED_RESULT_H

#include <optional>
#include <string_view>

#include "base/error.h"
#include "model/fit_result.h"

namespace vramfit::ingest {

struct StoredResult {
  model::RunResult run;  // without its evidence
  std::optional<model::FitResult> fit;
};

// Fields that are absent keep their defaults; one of a wrong type makes the whole unreadable.
base::Result<StoredResult> read_stored_result(std::string_view json);

}  // namespace vramfit::ingest

#endif
