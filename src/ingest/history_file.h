// Exported runs (report/history_json.h writes them).
#ifndef VRAMFIT_INGEST_HISTORY_FILE_H
#define VRAMFIT_INGEST_HISTORY_FILE_H

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/stored_run.h"

namespace vramfit::ingest {

// `where` names the text in errors. All runs or none: half an import would be hard to tell from a whole one.
base::Result<std::vector<model::StoredRun>> parse_history(std::string_view text, const std::string& where);

}  // namespace vramfit::ingest

#endif
