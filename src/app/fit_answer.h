// The answer of a search, as a plan file and the commands that prove and apply it.
#ifndef VRAMFIT_APP_FIT_ANSWER_H
#define VRAMFIT_APP_FIT_ANSWER_H

#include "app/fit.h"
#include "model/fit_result.h"

namespace vramfit::app {

// The user's file is never overwritten unless it is a plan itself.
void write_answer(const FitRequest& request, model::FitResult& result);

}  // namespace vramfit::app

#endif
