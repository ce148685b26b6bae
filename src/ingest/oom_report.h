// A report.json of VRAMFIT_ON_OOM (python/vramfit/on_oom): the moment of the error, and who held what.
#ifndef VRAMFIT_INGEST_OOM_REPORT_H
#define VRAMFIT_INGEST_OOM_REPORT_H

#include <string_view>

#include "base/error.h"
#include "model/runtime_evidence.h"

namespace vramfit::ingest {

// Whether a file begins as such a report does.
bool is_oom_report(std::string_view head);
base::Result<model::RuntimeEvidence> read_oom_report(std::string_view text);

}  // namespace vramfit::ingest

#endif
