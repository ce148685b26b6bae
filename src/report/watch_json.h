// A look at the machine as JSON: every reading under the name of its field, null where there is none, with the reason
// in "missing" beside it.
#ifndef VRAMFIT_REPORT_WATCH_JSON_H
#define VRAMFIT_REPORT_WATCH_JSON_H

#include <string>
#include <string_view>

#include "model/machine.h"

namespace vramfit::report {

// One line: a look is a stream of one sample.
std::string machine_to_json_line(const model::MachineSample& sample, std::string_view version);

}  // namespace vramfit::report

#endif
