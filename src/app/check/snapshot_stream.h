// A memory snapshot as a stream of events.
#ifndef VRAMFIT_APP_CHECK_SNAPSHOT_STREAM_H
#define VRAMFIT_APP_CHECK_SNAPSHOT_STREAM_H

#include <vector>

#include "compare/event_stream.h"
#include "model/snapshot.h"

namespace vramfit::app {

// The device with the most events; 0 when there are none.
int busiest_device(const model::Snapshot& snapshot);

// The devices that have events, in order.
std::vector<int> devices_with_history(const model::Snapshot& snapshot);

// A damaged snapshot gives only what its events tell, because its final state could not be read.
compare::EventStream stream_of(const model::Snapshot& snapshot, int device);

}  // namespace vramfit::app

#endif
