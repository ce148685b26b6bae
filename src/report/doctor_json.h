// A diagnosis as JSON. docs/doctor.schema.json is the contract.
#ifndef VRAMFIT_REPORT_DOCTOR_JSON_H
#define VRAMFIT_REPORT_DOCTOR_JSON_H

#include <string_view>
#include <vector>

#include "model/finding.h"

namespace vramfit::report {

std::string diagnosis_to_json(const model::Diagnosis& diagnosis, std::string_view version);

// SARIF 2.1.0, for code hosts and editors. `pages` become its rules.
std::string diagnosis_to_sarif(const model::Diagnosis& diagnosis, const std::vector<model::CausePage>& pages,
                               std::string_view version);

std::string causes_to_json(const std::vector<model::CausePage>& pages, std::string_view version);

}  // namespace vramfit::report

#endif
