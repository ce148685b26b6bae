// Stored runs as JSON: what export writes and import reads, and what --json of the history's verbs holds.
#ifndef VRAMFIT_REPORT_HISTORY_JSON_H
#define VRAMFIT_REPORT_HISTORY_JSON_H

#include <string>
#include <string_view>
#include <vector>

#include "model/comparison.h"
#include "model/stored_run.h"

namespace vramfit::report {

// {"vramfit": version, "runs": [...]} with everything the history holds of each run.
std::string history_to_json(const std::vector<model::StoredRun>& runs, std::string_view version);
std::string comparison_to_json(const model::Comparison& comparison, std::string_view version);

}  // namespace vramfit::report

#endif
