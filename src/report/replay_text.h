// A replay's result for a person.
#ifndef VRAMFIT_REPORT_REPLAY_TEXT_H
#define VRAMFIT_REPORT_REPLAY_TEXT_H

#include <string>

#include "model/replay_result.h"

namespace vramfit::report {

std::string replay_to_text(const model::ReplayResult& result, bool verbose);

}  // namespace vramfit::report

#endif
