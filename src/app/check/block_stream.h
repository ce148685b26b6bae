// The blocks that PyTorch's allocator told its profiler of, as a stream of events: our own recordings, and Kineto
// traces.
#ifndef VRAMFIT_APP_CHECK_BLOCK_STREAM_H
#define VRAMFIT_APP_CHECK_BLOCK_STREAM_H

#include "compare/event_stream.h"
#include "facts/block_events.h"
#include "model/kineto_trace.h"

namespace vramfit::app {

// Both are told of a block's size, rounded, and of what is allocated and reserved after it, by one function:
// c10::reportMemoryUsageToProfiler.
compare::EventStream stream_of(const facts::BlockEvents& events);
compare::EventStream stream_of(const model::KinetoTrace& trace, int device);

}  // namespace vramfit::app

#endif
