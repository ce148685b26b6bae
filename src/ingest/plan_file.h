// The plan file (docs/architecture.md): what `vramfit fit` writes, `--plan` reads and python/vramfit/apply carries out.
#ifndef VRAMFIT_INGEST_PLAN_FILE_H
#define VRAMFIT_INGEST_PLAN_FILE_H

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/error.h"
#include "model/plan.h"

namespace vramfit::ingest {

inline constexpr int kPlanFileVersion = 1;

nlohmann::json to_json(const model::Plan& plan);

// Settings that are no plan setting (null, nested lists) are refused with their place; unknown techniques are kept:
// whoever applies the plan knows them or refuses them.
base::Result<model::Plan> parse_plan(std::string_view text, std::string_view name);

base::Result<model::Plan> read_plan(const std::filesystem::path& path);
base::Result<void> write_plan(const std::filesystem::path& path, const model::Plan& plan);

}  // namespace vramfit::ingest

#endif
