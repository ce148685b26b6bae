// Why nothing fits: whose the floor is (plan/hardware, find_floor), what each remedy would take off it, and how many
// cards hold it together.
#ifndef VRAMFIT_PLAN_FLOOR_PROOF_H
#define VRAMFIT_PLAN_FLOOR_PROOF_H

#include <span>

#include "model/fit_result.h"
#include "plan/technique.h"

namespace vramfit::plan {

// The floor with all of it. Cards: the target's own, and the largest that is for sale.
model::Floor prove_floor(const model::Job& job, const Target& target, std::span<const model::Card> catalogue);

}  // namespace vramfit::plan

#endif
