// Which of the driver's contexts is current where something is made: it owns that, and takes it along when it is
// destroyed. A card's primary context is null here: it lives as long as the process.
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_CONTEXT_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_CONTEXT_H

#include "virtual_gpu/device/error.h"
#include "virtual_gpu/ledger/export.h"

namespace vramfit::device {

// How the driver tells which is current in the thread that asks. Until then it is the primary one.
VF_EXPORT void ask_for_context_by(const void* (*current)());
const void* context_of_new();

// Its streams, events and memory, that of the host too; not what comes from pools and mappings, which contexts share.
VF_EXPORT void destroy_all_of(const void* context);

}  // namespace vramfit::device

#endif
