// Virtual time, in nanoseconds. It moves only with CUDA calls, so that two runs of one script see the same order of
// events; the machine's own clock matters only to a program that has stopped submitting work.
//
//   host    --launch--launch--launch----------- synchronise ->|
//   stream     [ kernel ][ kernel ][ kernel ]                 ^ the host waits for the stream's last kernel
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_CLOCK_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_CLOCK_H

#include <cstdint>

#include "virtual_gpu/ledger/export.h"

namespace vramfit::device {

inline constexpr int64_t kHostCallNs = 4000;  // a launch as seen by the host: about 4 us on CUDA 12
inline constexpr int64_t kQueryNs = 500;      // cudaEventQuery
inline constexpr int64_t kQueueDepth = 1024;  // launches a stream takes before the host blocks

VF_EXPORT int64_t host_now();
VF_EXPORT void advance_host(int64_t by_ns);
// The host has waited until `at`.
VF_EXPORT void host_reaches(int64_t at);
// Remembers that work was submitted now.
void note_submission();
// Nothing was submitted for a second of real time: any card would have caught up by then.
bool has_caught_up();

}  // namespace vramfit::device

#endif
