// What the allocator stands on: cudaMalloc and the driver's virtual memory, with a capacity.
#ifndef VRAMFIT_ALLOCATOR_DEVICE_H
#define VRAMFIT_ALLOCATOR_DEVICE_H

#include <compare>
#include <cstdint>
#include <optional>

namespace vramfit::allocator {

using StreamHandle = std::uint64_t;  // cudaStream_t: part of the order of blocks

// MempoolId_t: {0, 0} is the default pool; first is set by graph captures, second by handles and MemPools.
struct PoolId {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  bool is_default() const { return first == 0 && second == 0; }
  friend auto operator<=>(const PoolId&, const PoolId&) = default;
};

class Device {
 public:
  virtual ~Device() = default;
  // Takes memory that was there before the simulation began, room or not.
  virtual void adopt(std::uint64_t bytes) = 0;
  // totalGlobalMem: fractions and the ranges of expandable segments are taken from it.
  virtual std::uint64_t total_bytes() const = 0;
  virtual std::uint64_t free_bytes() const = 0;  // cudaMemGetInfo

  // cudaMalloc; nothing: out of memory.
  virtual std::optional<std::uint64_t> allocate(std::uint64_t bytes) = 0;
  virtual void release(std::uint64_t address, std::uint64_t bytes) = 0;

  // cuMemAddressReserve, for one stream's blocks of one page size in one pool.
  virtual std::uint64_t reserve(std::uint64_t bytes, std::uint64_t page_bytes, StreamHandle stream, PoolId pool) = 0;
  virtual void unreserve(std::uint64_t address, std::uint64_t bytes) = 0;
  // cuMemCreate and cuMemMap of all these pages, or of none.
  virtual bool map(std::uint64_t address, std::uint64_t bytes, std::uint64_t page_bytes) = 0;
  virtual void unmap(std::uint64_t address, std::uint64_t bytes, std::uint64_t page_bytes) = 0;
};

}  // namespace vramfit::allocator

#endif
