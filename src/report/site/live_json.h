// What the pages' scripts ask for.
#ifndef VRAMFIT_REPORT_SITE_LIVE_JSON_H
#define VRAMFIT_REPORT_SITE_LIVE_JSON_H

#include <cstdint>
#include <string>
#include <vector>

#include "model/live_run.h"
#include "model/stored_run.h"

namespace vramfit::report::site {

// {"number": 12, "state": "running", "cards": [{..., "points": [[at_ms, used, allocated or null, reserved or null]]}]}
std::string live_run_json(std::int64_t number, model::RunState state, const std::vector<model::LiveCard>& cards);

struct GoingRun {
  std::int64_t number = 0;
  std::vector<model::LiveCard> cards;  // points are not told
};
// {"stamp": "...", "running": [{"number": 12, "used_bytes": ..., "peak_bytes": ..., "total_bytes": ...}]}: of each run
// its fullest card; null where none is known.
std::string going_runs_json(const std::string& stamp, const std::vector<GoingRun>& runs);

}  // namespace vramfit::report::site

#endif
