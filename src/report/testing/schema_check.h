// Checks a JSON value against a JSON schema, as far as docs/run.schema.json uses the language. For tests.
#ifndef VRAMFIT_REPORT_TESTING_SCHEMA_CHECK_H
#define VRAMFIT_REPORT_TESTING_SCHEMA_CHECK_H

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace vramfit::report::testing {

// Every violation, each with the path of what breaks it. A keyword this checker does not know is a violation too.
std::vector<std::string> find_violations(const nlohmann::json& value, const nlohmann::json& schema);

}  // namespace vramfit::report::testing

#endif
