// What `vramfit fit` found as JSON: the run of the job as it is (docs/run.schema.json), with a member "fit" more.
#ifndef VRAMFIT_REPORT_FIT_JSON_H
#define VRAMFIT_REPORT_FIT_JSON_H

#include <string>
#include <string_view>

#include "model/fit_result.h"

namespace vramfit::report {

std::string fit_to_json(const model::FitResult& result, std::string_view version);

}  // namespace vramfit::report

#endif
