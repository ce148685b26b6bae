#include "allocator/oom.h"

#include <fmt/format.h>

namespace vramfit::allocator {

std::string format_size(std::uint64_t bytes) {
  constexpr double kKib = 1024;
  const auto size = static_cast<double>(bytes);
  if (size <= kKib) return fmt::format("{} bytes", bytes);
  if (size <= kKib * kKib) return fmt::format("{:.2f} KiB", size / kKib);
  if (size <= kKib * kKib * kKib) return fmt::format("{:.2f} MiB", size / kKib / kKib);
  return fmt::format("{:.2f} GiB", size / kKib / kKib / kKib);
}

std::string message_of(const OutOfMemory& oom, int device, TorchVersion version) {
  if (oom.is_rejection) {
    return "CUDA out of memory. Allocation was preemptively rejected because it would exceed "
           "per_process_memory_fraction limit. Requested size: " +
           format_size(oom.requested_bytes);
  }
  const std::string allowed = oom.limit ? format_size(*oom.limit) + " allowed; " : "";
  const std::string in_pools = oom.free_in_private_pools > 0 ? "with " + format_size(oom.free_in_private_pools) +
                                                                   " allocated in private pools (e.g., CUDA Graphs), "
                                                             : "";
  // 2.1 misspelt it.
  const char* const capacity = version < TorchVersion{2, 2} ? "capacty" : "capacity";
  return fmt::format(
      "CUDA out of memory. Tried to allocate {}. GPU {} has a total {} of {} of which {} is free. {}Of the allocated "
      "memory {} is allocated by PyTorch, {}and {} is reserved by PyTorch but unallocated.",
      format_size(oom.tried_bytes), device, capacity, format_size(oom.device_total), format_size(oom.device_free),
      allowed, format_size(oom.allocated + oom.free_in_private_pools), in_pools,
      format_size(oom.reserved - oom.allocated - oom.free_in_private_pools));
}

}  // namespace vramfit::allocator
