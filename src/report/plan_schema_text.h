// The schema of plan files as others read it: docs/plan.schema.json, and the table of docs/plans.md. Both are compared
// with this in the tests; VRAMFIT_WRITE_SCHEMA=1 has report_test write them.
#ifndef VRAMFIT_REPORT_PLAN_SCHEMA_TEXT_H
#define VRAMFIT_REPORT_PLAN_SCHEMA_TEXT_H

#include <span>
#include <string>

#include "model/plan_schema.h"

namespace vramfit::report {

// JSON Schema, draft 2020-12.
std::string plan_schema_to_json(std::span<const model::TechniqueSchema> schema);
// The table in Markdown.
std::string plan_schema_to_table(std::span<const model::TechniqueSchema> schema);

}  // namespace vramfit::report

#endif
