// Host address space behind device addresses. Pages cost host memory only once somebody writes them.
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_BACKING_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_BACKING_H

#include <cstddef>
#include <cstdint>

namespace vramfit::device {

// What the driver hands out device memory in, whatever the request (cuMemGetAllocationGranularity answers it too).
inline constexpr size_t kGranularity = size_t{2} << 20;

constexpr size_t round_up(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

// `bytes` of zeros at a multiple of `alignment` (a power of two, at least a page). Null: no address space.
void* map_lazily(size_t bytes, size_t alignment);
// Addresses without access, near `hint` when that is free. Null: no address space.
void* reserve_addresses(size_t bytes, size_t alignment, void* hint);
// Prepares memory that is accessible, all of whose bytes will be written (--values cpu): huge pages, a fraction of the
// faults.
void expect_all_written(void* address, size_t bytes);
// Turns reserved addresses into zeros that can be read and written, and back.
bool make_accessible(void* address, size_t bytes);
bool make_inaccessible(void* address, size_t bytes);
void unmap(void* address, size_t bytes);
// Zeros again; whole pages go back to the system.
void zero(uintptr_t begin, uintptr_t end);

}  // namespace vramfit::device

#endif
