// What `vramfit check` found, for a person and as JSON (docs/check.schema.json).
#ifndef VRAMFIT_REPORT_CHECK_REPORT_H
#define VRAMFIT_REPORT_CHECK_REPORT_H

#include <string>
#include <string_view>

#include "model/check.h"
#include "report/run_text.h"

namespace vramfit::report {

std::string check_to_text(const model::CheckResult& result, const TextOptions& options);
std::string check_to_json(const model::CheckResult& result, std::string_view version);

}  // namespace vramfit::report

#endif
