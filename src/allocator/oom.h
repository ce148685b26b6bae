// An out-of-memory error: its numbers, and PyTorch's own text for them.
#ifndef VRAMFIT_ALLOCATOR_OOM_H
#define VRAMFIT_ALLOCATOR_OOM_H

#include <cstdint>
#include <optional>
#include <string>

#include "allocator/rules.h"

namespace vramfit::allocator {

struct OutOfMemory {
  std::uint64_t requested_bytes = 0;  // the tensor's
  std::uint64_t tried_bytes = 0;      // "Tried to allocate": the segment
  std::uint64_t device_total = 0;
  std::uint64_t device_free = 0;
  std::optional<std::uint64_t> limit;  // "allowed"
  std::uint64_t allocated = 0;
  std::uint64_t reserved = 0;
  std::uint64_t free_in_private_pools = 0;  // the text adds it to what is "allocated by PyTorch"
  bool is_rejection = false;                // throw_on_cudamalloc_oom, 2.12
  friend bool operator==(const OutOfMemory&, const OutOfMemory&) = default;
};

// CachingAllocator's format_size: bytes, KiB, MiB or GiB; a unit is kept up to and with 1024.
std::string format_size(std::uint64_t bytes);

// The message without the clauses about processes, which come from NVML. 2.1 and later.
std::string message_of(const OutOfMemory& oom, int device, TorchVersion version);

}  // namespace vramfit::allocator

#endif
