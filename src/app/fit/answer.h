// How a fit ends: its verdict, the best plan's file, and the commands that use it.
#ifndef VRAMFIT_APP_FIT_ANSWER_H
#define VRAMFIT_APP_FIT_ANSWER_H

#include "app/fit/fit.h"
#include "plan/search/search.h"

namespace vramfit::app {

// Sets the verdict after a search: what is left of what it found decides.
void set_verdict(const plan::SearchResult& found, bool no_techniques, model::FitResult& result);

// The best plan's file and commands. The user's file is never overwritten unless it is a plan itself.
void write_answer(const FitRequest& request, model::FitResult& result);

}  // namespace vramfit::app

#endif
