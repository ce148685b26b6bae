// Which system calls of a job are handed to a supervisor (seccomp_unotify(2)).
#ifndef VRAMFIT_ISOLATE_SUPERVISED_FILTER_H
#define VRAMFIT_ISOLATE_SUPERVISED_FILTER_H

#include "base/error.h"
#include "base/file.h"

namespace vramfit::isolate {

// From here on this process and its children wait for the supervisor, who reads the descriptor given back, in each call
// that names a file, changes one without naming it, or, without `network`, sends to an address. What could go around
// that is refused: io_uring, and calls of another architecture. Without `files` only what sends is handed over.
base::Result<base::FileDescriptor> hand_over_calls(bool files, bool network);

}  // namespace vramfit::isolate

#endif
