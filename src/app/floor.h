// The smallest card on which a job runs: what it *needs*, which is less than what it *uses*, because PyTorch gives
// cached memory back before it dies.
//
//        fails          runs, emptying its cache (slower)        runs without ever being refused
//   ----------------|--------------------------------------|------------------------------------> total memory
//              needs_bytes                          needs_without_retry
//
// The second limit is the peak of a run on a card with plenty: below it, some request is refused. The first one is
// found by bisection, which takes for granted that a job which runs on one card also runs on every larger one.
#ifndef VRAMFIT_APP_FLOOR_H
#define VRAMFIT_APP_FLOOR_H

#include <vector>

#include "job/run.h"

namespace vramfit::app {

struct FloorOptions {
  base::Bytes resolution = base::Bytes::mib(8);
  int most_runs = 24;
};

// One element for each card of the request; those the job never touched get no answer. Each is found while the others
// have plenty; cards that hold the same within the resolution, as ranks mostly do, are made smaller together.
base::Result<std::vector<std::optional<model::Needs>>> find_floor(job::Runner& runner, const job::RunRequest& request,
                                                                  const FloorOptions& options,
                                                                  base::ProgressSink& progress);

}  // namespace vramfit::app

#endif
