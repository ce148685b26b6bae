// What this machine has left for another process.
#ifndef VRAMFIT_BASE_HOST_MEMORY_H
#define VRAMFIT_BASE_HOST_MEMORY_H

#include <cstdint>

namespace vramfit::base {

// Bytes that can be had without swapping, as the kernel estimates it; 0 where it does not say.
std::int64_t available_memory();

}  // namespace vramfit::base

#endif
