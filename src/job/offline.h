// Services that would send a virtual run's numbers out: told to stay offline by their own variables, so that a script
// that uses them goes on without waiting for a network that is not there.
#ifndef VRAMFIT_JOB_OFFLINE_H
#define VRAMFIT_JOB_OFFLINE_H

#include "base/subprocess.h"

namespace vramfit::job {

void go_offline(base::Environment& environment);

}  // namespace vramfit::job

#endif
