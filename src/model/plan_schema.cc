#include "model/plan_schema.h"

#include <algorithm>

namespace vramfit::model {
namespace {

using enum SettingForm;

#include "model/plan_table.inc"  // from python/vramfit/contract/plans.py

int needed_version_of(const Change& change, const TechniqueSchema& technique) {
  int version = technique.since;
  for (const auto& [name, value] : change.settings) {
    const SettingSchema* setting = technique.find(name);
    if (setting != nullptr) version = std::max(version, setting->since);
  }
  return version;
}

}  // namespace

const SettingSchema* TechniqueSchema::find(std::string_view name) const {
  const auto found = std::ranges::find(settings, name, &SettingSchema::name);
  return found == settings.end() ? nullptr : &*found;
}

std::span<const TechniqueSchema> plan_schema() { return kTechniques; }

int newest_plan_version(std::span<const TechniqueSchema> schema) {
  int newest = 1;
  for (const TechniqueSchema& technique : schema) {
    newest = std::max(newest, technique.since);
    for (const SettingSchema& setting : technique.settings) newest = std::max(newest, setting.since);
  }
  return newest;
}

int needed_plan_version(const Plan& plan, std::span<const TechniqueSchema> schema) {
  int version = 1;
  for (const Change& change : plan.changes) {
    const auto technique = std::ranges::find(schema, change.technique, &TechniqueSchema::id);
    if (technique != schema.end()) version = std::max(version, needed_version_of(change, *technique));
  }
  return version;
}

}  // namespace vramfit::model
