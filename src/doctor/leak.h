// What piles up, by whatever shows it, so that a cure for something else is weighed by what it would buy: so many more
// steps until the pile has filled that too.
#ifndef VRAMFIT_DOCTOR_LEAK_H
#define VRAMFIT_DOCTOR_LEAK_H

#include <optional>
#include <string>

#include "doctor/scene.h"

namespace vramfit::doctor {

struct Leak {
  std::string what;        // who holds it or which line makes it
  Bytes per_step;          // or of one of the tensors that were piled up
  std::int64_t steps = 0;  // that it had gone on for
};

// A container of many tensors of one kind is made by many steps; so are the live blocks of one line that are spread
// over the whole trace and hardly ever freed.
bool is_piled_up(const model::TensorGroup& held, Bytes allocated);
bool is_piled_up(const CallSite& site, const SnapshotFacts& facts);

std::optional<Leak> find_leak(const Scene& scene);

// The steps that this much more memory would last for.
std::int64_t steps_bought(const Leak& leak, Bytes bytes);

}  // namespace vramfit::doctor

#endif
