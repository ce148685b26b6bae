// A replay's result as JSON; bytes are exact.
#ifndef VRAMFIT_REPORT_REPLAY_JSON_H
#define VRAMFIT_REPORT_REPLAY_JSON_H

#include <string>
#include <string_view>

#include "model/replay_result.h"

namespace vramfit::report {

std::string replay_to_json(const model::ReplayResult& result, std::string_view version);

}  // namespace vramfit::report

#endif
