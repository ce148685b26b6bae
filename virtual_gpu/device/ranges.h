// Which address belongs to what: the table behind cudaPointerGetAttributes. Ranges never overlap.
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_RANGES_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_RANGES_H

#include <optional>
#include <vector>

#include "virtual_gpu/device/device.h"

namespace vramfit::device {

// The kind of allocation decides how it is given back.
enum class Origin {
  kAllocation,  // of its own, in whole granules
  kSmall,       // part of a shared 2 MiB granule
  kPool,        // cudaMallocAsync
  kMapping,     // cuMemMap
  kImport,      // another process's memory
  kHost,        // cudaHostAlloc
  kRegistered,  // cudaHostRegister
  kManaged
};

struct Allocation {
  Range range;
  Origin origin = Origin::kAllocation;
  int64_t charged_bytes = 0;      // to the ledger, for this range alone
  uint64_t id = 0;                // CU_POINTER_ATTRIBUTE_BUFFER_ID: never given twice
  void* owner = nullptr;          // the pool of a kPool range
  unsigned flags = 0;             // as the caller gave them
  const void* context = nullptr;  // that was current; null: the card's primary one
};

// False: it would overlap another range.
VF_EXPORT bool add_range(Allocation allocation);
VF_EXPORT std::optional<Allocation> find_allocation(const void* address);
// Removes the range that begins at `address`.
VF_EXPORT std::optional<Allocation> take_range(const void* address);
VF_EXPORT std::vector<Allocation> ranges_on_card(int card);
std::vector<Allocation> ranges_of_context(const void* context);

}  // namespace vramfit::device

#endif
