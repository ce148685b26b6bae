// Several ranks of one job on one card, where each was to have its own: their memory there is the job's, and nobody's
// to end.
#ifndef VRAMFIT_DOCTOR_RANKS_H
#define VRAMFIT_DOCTOR_RANKS_H

#include <optional>
#include <string>

#include "doctor/scene.h"

namespace vramfit::doctor {

struct SharedCard {
  double confidence = 0;
  // The line by which it is known to be a job of several ranks, and what it says; none: ranks say so themselves, a
  // table or the run.
  std::optional<model::SourceLine> sign;
  std::string says;
  std::string shown_by;   // beside that, by the message
  bool by_slurm = false;  // which knows no LOCAL_RANK
};

std::optional<SharedCard> find_shared_card(const Scene& scene);

bool ranks_share_card(const Scene& scene);

// The line by which the failure's text names this process of the message as one of the job's own; none: it names it
// nowhere. What is the job's own is never somebody else's.
std::optional<model::SourceLine> find_own_process(const Scene& scene, const model::OomProcess& process);

}  // namespace vramfit::doctor

#endif
