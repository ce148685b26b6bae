// What `vramfit init` found, for a person (80 columns) and as JSON.
#ifndef VRAMFIT_REPORT_ENVIRONMENT_TEXT_H
#define VRAMFIT_REPORT_ENVIRONMENT_TEXT_H

#include <string>
#include <string_view>
#include <vector>

#include "model/environment_check.h"

namespace vramfit::report {

std::string environment_to_text(const std::vector<model::EnvironmentCheck>& checks);

// {"vramfit": version, "problems": 1, "warnings": 2, "checks": [{"id", "state", "text", "why", "fix"}]}; null for why
// and fix where there is none.
std::string environment_to_json(const std::vector<model::EnvironmentCheck>& checks, std::string_view version);

}  // namespace vramfit::report

#endif
