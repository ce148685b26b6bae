// How the driver serves cudaMalloc below 1 MiB: several requests share one 2 MiB granule.
//
//   granule  |512|..4096..|free.........................|1 MiB...|      charged: 2 MiB, once
//
// Measured behaviour of NVIDIA drivers: the first small cudaMalloc lowers the free memory by 2 MiB, the following ones
// do not until that granule is full; addresses are multiples of 512 bytes.
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_SMALL_BLOCKS_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_SMALL_BLOCKS_H

#include <cstddef>
#include <cstdint>
#include <map>

#include "virtual_gpu/ledger/export.h"

namespace vramfit::device {

inline constexpr size_t kLargestSmallBlock = size_t{1} << 20;
inline constexpr size_t kSmallAlignment = 512;

// The granules of one card. The caller brings them in and takes empty ones away. Not thread-safe.
class VF_EXPORT SmallBlocks {
 public:
  // 0: no granule has room.
  uintptr_t allocate(size_t bytes);
  void add_granule(uintptr_t begin);
  // Returns the granule when this was its last block, which is then no longer ours; else 0.
  uintptr_t release(uintptr_t address, size_t bytes);

 private:
  using FreeSpans = std::map<size_t, size_t>;  // offset -> length
  std::map<uintptr_t, FreeSpans> granules_;
};

}  // namespace vramfit::device

#endif
