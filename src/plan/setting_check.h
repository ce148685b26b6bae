// Whether the value of one setting of a plan is what the schema says.
#ifndef VRAMFIT_PLAN_SETTING_CHECK_H
#define VRAMFIT_PLAN_SETTING_CHECK_H

#include <string>

#include "model/plan.h"
#include "model/plan_schema.h"

namespace vramfit::plan {

struct SettingFault {
  bool found = false;
  std::string word;    // of a text or a list: the one that is wrong; empty when it is the value as a whole
  bool twice = false;  // it stands in the list already
};

SettingFault find_fault(const model::SettingSchema& setting, const model::Setting& value);

// "a whole number from 1 to 1048576": for a message.
std::string describe_setting(const model::SettingSchema& setting);

}  // namespace vramfit::plan

#endif
