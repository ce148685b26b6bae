// What a plan file may hold, as python/vramfit/contract/plans.py says it: by this the plan is checked before a job
// starts (plan/plan_check), and of it the published JSON schema and the table of docs/plans.md are made.
#ifndef VRAMFIT_MODEL_PLAN_SCHEMA_H
#define VRAMFIT_MODEL_PLAN_SCHEMA_H

#include <cstdint>
#include <span>
#include <string_view>

#include "model/plan.h"

namespace vramfit::model {

enum class SettingForm { kFlag, kWhole, kNumber, kText, kWholes, kTexts, kOptions };

inline constexpr double kNoMost = 0x1p63;  // what a whole number can hold

struct SettingSchema {
  std::string_view name;
  SettingForm form = SettingForm::kFlag;
  std::string_view meaning;
  bool needed = false;
  // The range of a number, or of each in a list.
  double least = 0;
  double most = kNoMost;
  bool above_least = false;                      // `least` itself is out
  std::span<const std::string_view> words = {};  // the only texts that are right; none: any
  std::string_view left_out = {};                // as JSON: what holds without it
  int since = 1;                                 // version of plans
  bool repeats = false;                          // a list of numbers that may have one twice: sides
};

struct TechniqueSchema {
  std::string_view id;
  std::string_view meaning;
  std::span<const SettingSchema> settings = {};
  bool needs_one = false;    // of its settings, whichever
  bool for_loaders = false;  // stands once for each data loader; others once in a plan
  int since = 1;

  const SettingSchema* find(std::string_view name) const;
};

std::span<const TechniqueSchema> plan_schema();

// The members of a plan file beside the techniques.
inline constexpr std::string_view kPlanKeys[] = {"version", "name", "techniques"};

// Plans of version 1 up to this are read.
int newest_plan_version(std::span<const TechniqueSchema> schema = plan_schema());
// The lowest version that has all of the plan.
int needed_plan_version(const Plan& plan, std::span<const TechniqueSchema> schema = plan_schema());

}  // namespace vramfit::model

#endif
