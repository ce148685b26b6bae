// Runs of a list that belong together, and how their peaks went.
#ifndef VRAMFIT_HISTORY_RUN_GROUPS_H
#define VRAMFIT_HISTORY_RUN_GROUPS_H

#include <optional>
#include <string_view>
#include <vector>

#include "model/peak_series.h"
#include "model/stored_run.h"

namespace vramfit::history {

enum class GroupBy { kNothing, kTag, kScript };
std::optional<GroupBy> parse_group_by(std::string_view word);  // "", "tag", "script"

// Takes runs with the newest first. Runs of one file of one folder belong together; of those without a file that is the
// job, runs of one command.
model::PeaksByScript peaks_by_script(const std::vector<model::StoredRun>& runs);

// The group with the newest run first. By tag a run is in the group of each of its tags, and those without one are in
// the last.
std::vector<model::RunGroup> group_runs(const std::vector<model::StoredRun>& runs, GroupBy by);

}  // namespace vramfit::history

#endif
