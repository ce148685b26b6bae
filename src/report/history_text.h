// Stored runs for a person: a list, one of them, several side by side. 80 columns.
#ifndef VRAMFIT_REPORT_HISTORY_TEXT_H
#define VRAMFIT_REPORT_HISTORY_TEXT_H

#include <string>
#include <vector>

#include "model/comparison.h"
#include "model/stored_run.h"

namespace vramfit::report {

// The verdict of a run that ended, else its state.
std::string outcome_of(const model::StoredRun& run);
std::string history_to_text(const std::vector<model::StoredRun>& runs);
std::string stored_run_to_text(const model::StoredRun& run);
std::string comparison_to_text(const model::Comparison& comparison);

}  // namespace vramfit::report

#endif
