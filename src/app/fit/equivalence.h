// What a fit knows of whether its plans train the same, and what follows from it.
#ifndef VRAMFIT_APP_FIT_EQUIVALENCE_H
#define VRAMFIT_APP_FIT_EQUIVALENCE_H

#include <optional>
#include <string>

#include "app/equivalence/equivalence.h"
#include "model/fit_result.h"

namespace vramfit::app {

// A plan that is exact by construction needs no comparison. Nothing: its first steps have to be compared.
std::optional<model::Equivalence> find_known_equivalence(const model::PlanRow& row);

// Whether that is so by its changes, unless it is meant to train otherwise.
bool is_exempt(const model::Plan& plan);

// The result for a plan whose first steps were not compared, and `why` not.
model::Equivalence not_run(const model::PlanRow& row, std::string why);

// The part of a plan that is compared: smaller batches of an evaluation put out the same, and can't be laid side by
// side.
model::Plan compared_part(const model::Plan& plan);

// The best plan was found to train something else: it joins those that lost, with all others that have the technique
// which did it. Returns that technique, where there is only one that can have; else the best alone goes.
std::string reject_best(model::FitResult& result);

// Prepares a search without this technique: marks it as not applicable, and forgets the lost plans that do without it.
void rule_out(const std::string& technique, model::FitResult& result);

// Gives the plans that are not the best an equivalence too.
void tell_what_was_compared(model::FitResult& result);

}  // namespace vramfit::app

#endif
