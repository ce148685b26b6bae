// The techniques that a search is made of.
#ifndef VRAMFIT_APP_FIT_CHOICE_H
#define VRAMFIT_APP_FIT_CHOICE_H

#include <vector>

#include "app/fit/context.h"
#include "model/job.h"
#include "plan/technique.h"

namespace vramfit::app {

// False: a fault of the script itself makes it run out, and no technique can work around that.
bool is_search_of_use(FitContext& fit, const model::Job& job);

// The techniques that can be applied and that the user did not exclude. All techniques get a row in the answer.
std::vector<const plan::Technique*> choose_techniques(FitContext& fit, const model::Job& job);

}  // namespace vramfit::app

#endif
