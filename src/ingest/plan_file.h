// The plan file (docs/plans.md): what `vramfit fit` writes, `--plan` reads and python/vramfit/apply carries out.
#ifndef VRAMFIT_INGEST_PLAN_FILE_H
#define VRAMFIT_INGEST_PLAN_FILE_H

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "model/plan.h"
#include "model/plan_schema.h"

namespace vramfit::ingest {

// Keys that stand twice or that no plan has, and versions that nobody knows or that are older than what is in the plan,
// are refused with their place. Settings that are no plan setting (null, nested lists) are refused with their place;
// unknown techniques are kept: plan::check_plan refuses them.
base::Result<model::Plan> parse_plan(std::string_view text, std::string_view name,
                                     std::span<const model::TechniqueSchema> schema = model::plan_schema());

// Writes the lowest version of plans that has all of it.
std::string plan_to_json(const model::Plan& plan);

base::Result<model::Plan> read_plan(const std::filesystem::path& path);
base::Result<void> write_plan(const std::filesystem::path& path, const model::Plan& plan);

}  // namespace vramfit::ingest

#endif
