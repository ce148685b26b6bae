// Who keeps a tensor alive, in words.
#ifndef VRAMFIT_DOCTOR_HOLDERS_H
#define VRAMFIT_DOCTOR_HOLDERS_H

#include <string>

#include "model/runtime_evidence.h"

namespace vramfit::doctor {

// "local `collected[2]` (a list of 4) in train.py:90 in validate"
std::string describe(const model::Holder& holder);

// With the lines that put something there: ", filled at train.py:16 in Log.add".
std::string describe_with_line(const model::Holder& holder);

}  // namespace vramfit::doctor

#endif
