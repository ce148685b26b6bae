// A script asked for a module that its environment lacks: what to install.
#ifndef VRAMFIT_JOB_MISSING_MODULE_H
#define VRAMFIT_JOB_MISSING_MODULE_H

#include <string>

#include "job/environment.h"

namespace vramfit::job {

std::string remedy_for_missing_module(const JobEnvironment& environment, const std::string& module);

}  // namespace vramfit::job

#endif
