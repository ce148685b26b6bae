// What `vramfit verify` found, for a person and as JSON (docs/verify.schema.json).
#ifndef VRAMFIT_REPORT_VERIFY_REPORT_H
#define VRAMFIT_REPORT_VERIFY_REPORT_H

#include <string>
#include <string_view>

#include "model/equivalence.h"
#include "report/run_text.h"

namespace vramfit::report {

std::string verify_to_text(const model::VerifyResult& result, const TextOptions& options);
std::string verify_to_json(const model::VerifyResult& result, std::string_view version);

}  // namespace vramfit::report

#endif
