// A snapshot wound back to its last out-of-memory error. It is dumped later, when the functions that failed have ended
// and freed what they held: what is idle then was not idle when memory ran out.
//
//   trace    ... alloc A | OOM | free A | free B | dump       at the failure A and B were live
#ifndef VRAMFIT_DOCTOR_AT_FAILURE_H
#define VRAMFIT_DOCTOR_AT_FAILURE_H

#include <cstddef>
#include <optional>
#include <vector>

#include "model/snapshot.h"

namespace vramfit::doctor {

// The place in the trace of `device` of its last such error; nothing: it has none.
std::optional<std::size_t> last_failure(const model::Snapshot& snapshot, int device);

// The segments of `device` as they were when the entry `at` of its trace was written.
std::vector<model::Segment> segments_at(const model::Snapshot& snapshot, int device, std::size_t at);

}  // namespace vramfit::doctor

#endif
