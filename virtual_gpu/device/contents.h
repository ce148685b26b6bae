// What device memory reads as. Policy `zeros`: only what host copies brought in, and of those only up to kKeptCopyBytes
// each; policy `cpu`: every byte, exactly.
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_CONTENTS_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_CONTENTS_H

#include <cstddef>

#include "virtual_gpu/device/device.h"

namespace vramfit::device {

// Copies above this are batches and weights: nobody's control flow reads them back, and moving 38 MB takes 10 ms.
inline constexpr size_t kKeptCopyBytes = size_t{1} << 20;

// Forgets what was written: a new owner of the memory reads zeros.
VF_EXPORT void clear(void* address, size_t bytes);
// The memory behind the addresses is about to go away.
void forget(const void* address, size_t bytes);

}  // namespace vramfit::device

#endif
