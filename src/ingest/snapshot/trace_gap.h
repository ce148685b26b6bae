// How much of a device's past the trace in a snapshot does not show.
#ifndef VRAMFIT_INGEST_SNAPSHOT_TRACE_GAP_H
#define VRAMFIT_INGEST_SNAPSHOT_TRACE_GAP_H

#include <vector>

#include "model/snapshot.h"

namespace vramfit::ingest {

// One for every device that has a trace or segments, by index. Time: one pass over the entries; memory: what is live.
std::vector<model::TraceGap> find_trace_gaps(const model::Snapshot& snapshot);

}  // namespace vramfit::ingest

#endif
