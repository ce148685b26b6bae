// Failures that a program told and got over: it says that it tries otherwise, and goes on.
#ifndef VRAMFIT_DOCTOR_HANDLED_H
#define VRAMFIT_DOCTOR_HANDLED_H

#include <optional>

#include "model/evidence.h"

namespace vramfit::doctor {

struct Scene;

// The evidence without them; nothing: there are none.
std::optional<model::Evidence> without_handled(const model::Evidence& texts);

// The first line that tells of memory that ran out, where the program went on with something else.
std::optional<model::SourceLine> find_got_over(const Scene& scene);

}  // namespace vramfit::doctor

#endif
