// What a plan promises of a job, where a run was made with it alone: nothing was there to compare it with.
#ifndef VRAMFIT_APP_PROMISED_H
#define VRAMFIT_APP_PROMISED_H

#include <string>
#include <string_view>
#include <vector>

#include "facts/told.h"
#include "job/run.h"
#include "model/plan.h"

namespace vramfit::app {

// Sentences of what the techniques that were applied are to leave as it is, each with the way to have it compared.
// Nothing is said of what is exact by the way it is made, nor of what is another training on purpose. `file`: the
// plan's, as it was named.
std::vector<std::string> find_promised(const model::Plan& plan, const facts::Told& told, std::string_view file);

// Those of the run's own plan, into its result.
void add_promised(const job::RunRequest& request, job::RunOutcome& outcome);

}  // namespace vramfit::app

#endif
