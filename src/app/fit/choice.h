// Which techniques a search is made of, and what is known of them before it.
#ifndef VRAMFIT_APP_FIT_CHOICE_H
#define VRAMFIT_APP_FIT_CHOICE_H

#include <filesystem>
#include <vector>

#include "app/fit/context.h"
#include "model/job.h"
#include "plan/technique.h"

namespace vramfit::app {

// False: a fault of the script itself makes it run out, and no technique can work around that.
bool is_search_of_use(FitContext& fit, const model::Job& job);

// The techniques that can be applied and that the user did not exclude. All techniques get a row in the answer.
std::vector<const plan::Technique*> choose_techniques(FitContext& fit, const model::Job& job);

// Replaces the model's idea of some techniques by what a run shows, and takes those away that cannot be. Left out where
// it would take too much of the time. Plan files are written to `folder`.
base::Result<void> measure(FitContext& fit, std::vector<const plan::Technique*>& techniques, model::Job& job,
                           const std::filesystem::path& folder);

}  // namespace vramfit::app

#endif
