#ifndef VRAMFIT_RECORDER_MEMORY_GAUGE_H
#define VRAMFIT_RECORDER_MEMORY_GAUGE_H

#include <cstddef>
#include <cstdint>

namespace vramfit::recorder {

// The last figures PyTorch's allocator reported for each card, and their peaks. Lock-free; one writer per card at a
// time (the allocator holds its own lock while it reports).
void set_gauge(uint32_t device, size_t allocated, size_t reserved);
int64_t memory_reading(uint32_t device, uint32_t what);  // what: enum vf_memory; -1 = nothing reported
void reset_peaks();                                      // the peaks become the present figures

}  // namespace vramfit::recorder

#endif
