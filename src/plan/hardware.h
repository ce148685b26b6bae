// The other way to fit: which cards of the catalogue the job would run on, as it is or with a plan, and at what price.
//
// Memory is that of the forecast with the context of each card; time is a ratio of the time model; price is the
// catalogue's factor (RTX 3090 = 1). Several cards share each batch under DistributedDataParallel: weights, gradients
// and optimizer state are on each, and gradient buckets beside them.
#ifndef VRAMFIT_PLAN_HARDWARE_H
#define VRAMFIT_PLAN_HARDWARE_H

#include <span>
#include <vector>

#include "model/fit_result.h"
#include "plan/technique.h"

namespace vramfit::plan {

struct Demand {
  Bytes single;             // tensors, and what of the cache can't be given back; without the context
  bool needs_bf16 = false;  // cards before Ampere don't compute in it
  double time_factor = 1;   // of a step, against the job as it is, on the target's card
  bool has_plan = false;
  const Forecast* forecast = nullptr;  // null: no several cards
};

// Cheapest first: the cheapest, and each dearer one that is faster by a fifth at least; four at the most.
std::vector<model::HardwareRow> find_hardware(const model::Job& job, const Target& target, const Demand& demand,
                                              std::span<const model::Card> catalogue, int cuda_major);

// All that are there at once: of what is trained, which a teacher or a frozen part of the network is not.
Bytes bytes_of_gradients(const model::Job& job);

// The floor of a job. One that only evaluates has no gradients and no optimizer.
model::Floor find_floor(const model::Job& job);

// The job as it is.
Demand demand_of(const model::Job& job, const Forecast& forecast);
// What the job demands with a plan that was proven.
Demand demand_of(const model::Job& job, const model::PlanRow& proven);

}  // namespace vramfit::plan

#endif
