// A plan's row of the answer: what was foreseen, what its run proved, and why it is not the first.
#ifndef VRAMFIT_APP_FIT_PLAN_ROW_H
#define VRAMFIT_APP_FIT_PLAN_ROW_H

#include <string>

#include "base/bytes.h"
#include "model/fit_result.h"
#include "plan/search/search.h"

namespace vramfit::app {

model::PlanRow row_of(const plan::PlanTrial& trial, base::Bytes limit);
model::PlanRow row_of(const plan::Explained& explained, base::Bytes limit);  // of a plan that was not run

// Why a run did not prove its plan; empty when it did.
std::string why_unproven(const plan::Proof& proof);

// The line at which all plans ran out that did, and at least two: the script itself has to change it.
std::string common_wall(const model::FitResult& result);

// Tells the plans that fit why they are not the first.
void explain_ranks(model::FitResult& result);

}  // namespace vramfit::app

#endif
