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
  std::optional<model::SourceLine> launcher;  // by which it is known to be a job of several ranks
  std::string shown_by;                       // beside that; empty: ranks say so themselves, a table or the run
};

std::optional<SharedCard> find_shared_card(const Scene& scene);

bool ranks_share_card(const Scene& scene);

}  // namespace vramfit::doctor

#endif
