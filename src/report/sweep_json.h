// A sweep's result as JSON: the definition, every trial that was run, and with a search its answers.
#ifndef VRAMFIT_REPORT_SWEEP_JSON_H
#define VRAMFIT_REPORT_SWEEP_JSON_H

#include <string>
#include <string_view>

#include "model/sweep.h"

namespace vramfit::report {

std::string sweep_to_json(const model::SweepResult& result, std::string_view version);

}  // namespace vramfit::report

#endif
