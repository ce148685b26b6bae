// Says once what a run that goes on has shown so far.
#ifndef VRAMFIT_JOB_SO_FAR_H
#define VRAMFIT_JOB_SO_FAR_H

#include <string>

#include "base/progress.h"
#include "job/job_run.h"

struct vf_ledger;

namespace vramfit::job {

// "so far it fits: 3.70 GiB of 3.81 GiB at the peak"; of several cards the fullest. Empty: no card was used yet.
std::string describe_so_far(const vf_ledger& ledger);

class SoFar {
 public:
  explicit SoFar(const JobRun& run) : run_(run) {}
  void look(base::ProgressSink& progress);

 private:
  const JobRun& run_;
  bool said_ = false;
};

}  // namespace vramfit::job

#endif
