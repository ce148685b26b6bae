// A script that the doctor runs to see for itself.
#ifndef VRAMFIT_APP_DOCTOR_SCRIPT_RUN_H
#define VRAMFIT_APP_DOCTOR_SCRIPT_RUN_H

#include <string>

#include "base/error.h"
#include "base/progress.h"
#include "job/run.h"

namespace vramfit::doctor {
struct Case;
}

namespace vramfit::app {

// Adds what the run showed and what it printed. `gpu`: the card as typed, for the commands of the advice.
base::Result<void> run_script(const job::RunRequest& script, const std::string& gpu, job::Runner& runner,
                              base::ProgressSink& progress, doctor::Case& into);

}  // namespace vramfit::app

#endif
