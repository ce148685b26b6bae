// A diagnosis as JSON. docs/doctor.schema.json is the contract.
#ifndef VRAMFIT_REPORT_DOCTOR_JSON_H
#define VRAMFIT_REPORT_DOCTOR_JSON_H

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "model/finding.h"

namespace vramfit::report {

nlohmann::ordered_json diagnosis_to_json(const model::Diagnosis& diagnosis, std::string_view version);

// SARIF 2.1.0, for code hosts and editors. `pages` become its rules.
nlohmann::ordered_json diagnosis_to_sarif(const model::Diagnosis& diagnosis, const std::vector<model::CausePage>& pages,
                                          std::string_view version);

nlohmann::ordered_json causes_to_json(const std::vector<model::CausePage>& pages, std::string_view version);

// Texts of a log may hold bytes that are no UTF-8: they are replaced, so that the document can be written.
std::string json_to_text(const nlohmann::ordered_json& json);

}  // namespace vramfit::report

#endif
