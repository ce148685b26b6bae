// Who keeps a tensor alive, in words.
#ifndef VRAMFIT_DOCTOR_HOLDERS_H
#define VRAMFIT_DOCTOR_HOLDERS_H

#include <optional>
#include <string>

#include "model/runtime_evidence.h"

namespace vramfit::doctor {

// "local `collected[2]` (a list of 4) in train.py:90 in validate"
std::string describe(const model::Holder& holder);

// Describes it with the lines that put something there: ", filled at train.py:16 in Log.add".
std::string describe_with_line(const model::Holder& holder);

struct Remedy {  // what to do, and how it is written
  const char *what, *how;
};

// What is known of the object that holds it, whatever is kept in it: parts of Python and of PyTorch that hold on to
// what they were given.
std::optional<Remedy> remedy_of_object(const model::Holder& holder);

}  // namespace vramfit::doctor

#endif
