// Lays a recording and a virtual run side by side: events, places, segments, sums, and why they differ.
#ifndef VRAMFIT_COMPARE_COMPARISON_H
#define VRAMFIT_COMPARE_COMPARISON_H

#include "compare/event_stream.h"
#include "model/check.h"

namespace vramfit::compare {

// Fills everything but what only the caller knows: names of files, card, versions, notes and the time it took.
model::CheckResult compare(const EventStream& recorded, const EventStream& virtual_run);

}  // namespace vramfit::compare

#endif
