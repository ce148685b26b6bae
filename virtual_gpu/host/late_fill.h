// Large random fills on the host that are only carried out if somebody looks.
//
// On a virtual card weights are made on the host, copied to the card and never read: the copy moves nothing. Drawing
// their random numbers is then most of a run. A fill of a whole tensor is therefore kept as a program (PyTorch's own
// functions, its own arguments, a generator in the state it had), and its pages are made inaccessible. Whoever touches
// one first waits until the program has run elsewhere and its pages have taken the place of the empty ones: every
// reader sees what PyTorch would have written, and nothing has to know who reads.
//
// Ranges are whole allocations of PyTorch's CPU allocator, which host/allocation.h hands out in pages of their own.
#ifndef VRAMFIT_VIRTUAL_GPU_HOST_LATE_FILL_H
#define VRAMFIT_VIRTUAL_GPU_HOST_LATE_FILL_H

#include <cstddef>
#include <cstdint>

#include "virtual_gpu/ledger/export.h"
#include "vramfit/hook_functions.h"  // vf_host_call

extern "C" {

// Turns this on: from here on large allocations get pages of their own. Off again: existing ones stay as they are.
VF_EXPORT void vramfit_host_enable(int on);
// The bytes of the allocation that begins at `address`, 0 when it is none of ours.
VF_EXPORT uint64_t vramfit_host_allocation(uint64_t address);
// Untouched memory, for what a program writes to. 0: no address space.
VF_EXPORT uint64_t vramfit_host_reserve(uint64_t bytes);
VF_EXPORT void vramfit_host_release(uint64_t address, uint64_t bytes);
// The allocation at `address` gets what `calls` write to the memory at `reserved`, of the same size, once it is looked
// at. Returns the program's number, 0 when that is not possible. An earlier program of the allocation is dropped.
VF_EXPORT uint64_t vramfit_host_defer(uint64_t address, uint64_t reserved, const vf_host_call* calls, uint64_t count);
// One more call for the program of the allocation at `address`; 0 when it has been carried out already.
VF_EXPORT int vramfit_host_append(uint64_t address, const vf_host_call* call);
// Carries out what is pending anywhere in [address, address + bytes). Returns whether anything was.
VF_EXPORT int vramfit_host_fill(uint64_t address, uint64_t bytes);
// Numbers of programs that are over: carried out, dropped, or their memory freed. At most `most`; told once.
VF_EXPORT uint64_t vramfit_host_over(uint64_t* numbers, uint64_t most);
// Bytes whose fill was put off so far, and those of them that were looked at after all.
VF_EXPORT uint64_t vramfit_host_deferred_bytes(void);
VF_EXPORT uint64_t vramfit_host_filled_bytes(void);
// Moves PyTorch's serialized CPU generator (Generator.get_state()) on by so many draws of 32 bits.
VF_EXPORT void vramfit_host_skip(void* state, uint64_t draws);
}

namespace vramfit::host {

// PyTorch's large allocations. allocate() returns null for those that stay with PyTorch, release() false.
VF_EXPORT void* allocate(size_t bytes);
VF_EXPORT bool release(void* address);

}  // namespace vramfit::host

#endif
