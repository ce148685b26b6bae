// Virtual memory management (cuMemCreate and friends): physical memory, address ranges and the mappings between them.
//
//   create ──> handle (1 reference) ──map──> address range ──unmap──┐
//                 └── release: the handle is gone; the bytes go back when the last mapping is gone too
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_PHYSICAL_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_PHYSICAL_H

#include <cstddef>
#include <cstdint>

#include "virtual_gpu/device/error.h"
#include "virtual_gpu/ledger/export.h"

namespace vramfit::device {

using Handle = uint64_t;
inline constexpr int kOnHost = -1;  // as a card: pinned host memory, which no card is charged for

struct PhysicalProperties {
  int card = 0;
  size_t bytes = 0;
  unsigned handle_types = 0;  // CUmemAllocationHandleType bits it may be exported as
};

VF_EXPORT Error create_physical(const PhysicalProperties& properties, Handle* handle);
VF_EXPORT Error release_physical(Handle handle);
VF_EXPORT Error properties_of(Handle handle, PhysicalProperties* properties);
// A new reference to what is mapped at the address.
VF_EXPORT Error retain_mapped(const void* address, Handle* handle);

VF_EXPORT Error reserve_range(size_t bytes, size_t alignment, uintptr_t hint, uintptr_t* begin);
VF_EXPORT Error free_range(uintptr_t begin, size_t bytes);
VF_EXPORT Error map_physical(uintptr_t begin, size_t bytes, size_t offset, Handle handle);
VF_EXPORT Error unmap_physical(uintptr_t begin, size_t bytes);
// `flags` is CUmemAccess_flags. The range must be mapped throughout.
VF_EXPORT Error set_access(uintptr_t begin, size_t bytes, unsigned flags);
VF_EXPORT Error get_access(uintptr_t at, unsigned* flags);

// A file descriptor that another process can import; the importer is charged nothing.
VF_EXPORT Error export_to_fd(Handle handle, int* file);
VF_EXPORT Error import_from_fd(int file, Handle* handle);

}  // namespace vramfit::device

#endif
