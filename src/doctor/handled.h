// Failures that a program told and got over: it says that it tries otherwise, and goes on.
#ifndef VRAMFIT_DOCTOR_HANDLED_H
#define VRAMFIT_DOCTOR_HANDLED_H

#include <optional>

#include "model/evidence.h"

namespace vramfit::doctor {

// The evidence without them; nothing: there are none.
std::optional<model::Evidence> without_handled(const model::Evidence& texts);

}  // namespace vramfit::doctor

#endif
