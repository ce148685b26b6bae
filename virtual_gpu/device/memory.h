// cudaMalloc, cudaHostAlloc, managed memory and what they are given back with, charged to the ledger.
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_MEMORY_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_MEMORY_H

#include "virtual_gpu/device/error.h"
#include "virtual_gpu/device/ranges.h"

namespace vramfit::device {

// Zero bytes give a null address and no error, as the runtime does.
VF_EXPORT Error allocate_device(int card, size_t bytes, void** address);
VF_EXPORT Error release_device(void* address);

VF_EXPORT Error allocate_host(size_t bytes, unsigned flags, void** address);
VF_EXPORT Error release_host(void* address);
VF_EXPORT Error register_host(void* address, size_t bytes, unsigned flags);
VF_EXPORT Error unregister_host(void* address);

// Counted on the card it was made on, but never refused: a real one pages out.
VF_EXPORT Error allocate_managed(int card, size_t bytes, unsigned flags, void** address);

// Another process's memory: an address range of its own that reads as zeros and is charged to its maker alone.
VF_EXPORT Error import_device(int card, size_t bytes, void** address);
VF_EXPORT Error release_import(void* address);

// cudaDeviceReset: what the card's primary context has; what other contexts made stays theirs.
VF_EXPORT void release_all_on(int card);
// Releases what was made while this context was current.
void release_memory_of(const void* context);

}  // namespace vramfit::device

#endif
