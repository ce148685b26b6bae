// The part of a virtual run that is compared with a recording: events of the same kind, from the same place in the job.
#ifndef VRAMFIT_APP_CHECK_PARTNER_H
#define VRAMFIT_APP_CHECK_PARTNER_H

#include <string>
#include <vector>

#include "app/check/recorded.h"
#include "job/run.h"

namespace vramfit::app {

struct Partner {
  compare::EventStream stream;
  std::string description;    // "what the script dumped to forward.pickle", "its history at the end"
  int device = 0;             // of the virtual run
  bool is_same_dump = false;  // the script itself dumped it, under the recording's name
};

// The likeliest first. A snapshot's are the run's own snapshots: those of the same name, else all of them. Empty where
// the job never came to use a card.
std::vector<Partner> find_partners(const Recorded& recorded, const std::string& file_name,
                                   const job::RunOutcome& outcome);

}  // namespace vramfit::app

#endif
