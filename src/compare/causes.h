// Why a recording and a virtual run differ: each cause from what the events themselves show, none by guessing.
#ifndef VRAMFIT_COMPARE_CAUSES_H
#define VRAMFIT_COMPARE_CAUSES_H

#include <vector>

#include "compare/alignment.h"
#include "compare/event_stream.h"
#include "compare/places.h"
#include "model/check.h"

namespace vramfit::compare {

struct Sides {
  const EventStream& recorded;
  const EventStream& virtual_run;
  const Alignment& alignment;
  const PlaceCount& places;
  bool same_sums = true;  // of what is reserved
  bool same_live = true;  // of what is allocated
};

// The likeliest first; kNotKnown alone where something differs and nothing explains it; empty where nothing does.
std::vector<model::CheckReason> find_causes(const Sides& sides);

}  // namespace vramfit::compare

#endif
