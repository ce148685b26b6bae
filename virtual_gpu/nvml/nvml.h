// How a device handle names a card, and what all of the virtual NVML shares; its numbers and layouts are abi/nvml.h.
//
// NVML shows every card of the machine, whatever CUDA_VISIBLE_DEVICES says, and needs no CUDA context.
#ifndef VRAMFIT_VIRTUAL_GPU_NVML_NVML_H
#define VRAMFIT_VIRTUAL_GPU_NVML_NVML_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "abi/nvml.h"
#include "virtual_gpu/ledger/ledger.h"
#include "virtual_gpu/library/abi.h"

namespace vramfit::nvml {

using namespace abi::nvml;

using Handle = const vf_card*;  // points into the mapped ledger

// The ledger, once NVML has been initialised; null before that or outside a session.
const vf_ledger* ledger_if_initialised();
// Why there is none: kUninitialized or kDriverNotLoaded.
int why_no_ledger();
// The index of a handle's card, or -1.
int index_of(Handle handle);

// The UUID of a MIG slice (script.h). Empty: the handle is none, or none any more.
std::string slice_uuid(Handle handle);
std::string slice_label(Handle handle);
int slice_memory(Handle handle, uint64_t* total, uint64_t* used);

// Copies text with its closing zero: kInsufficientSize when it doesn't fit.
int copy_text(std::string_view text, char* out, unsigned bytes);

}  // namespace vramfit::nvml

#endif
