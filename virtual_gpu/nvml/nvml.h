// NVML's numbers and layouts (nvml.h of CUDA 13.0), and how a device handle names a card.
//
// NVML shows every card of the machine, whatever CUDA_VISIBLE_DEVICES says, and needs no CUDA context.
#ifndef VRAMFIT_VIRTUAL_GPU_NVML_NVML_H
#define VRAMFIT_VIRTUAL_GPU_NVML_NVML_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "virtual_gpu/ledger/ledger.h"
#include "virtual_gpu/library/abi.h"

namespace vramfit::nvml {

enum Result : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kLibRmVersionMismatch = 18,
  kArgumentVersionMismatch = 25
};

using Handle = const vf_card*;  // points into the mapped ledger

struct Memory {
  uint64_t total, free, used;
};

struct MemoryV2 {
  uint32_t version;
  uint64_t total, reserved, free, used;
};

struct PciInfo {
  char bus_id_legacy[16];
  uint32_t domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

// The ledger, once NVML has been initialised; null before that or outside a session.
const vf_ledger* ledger_if_initialised();
// Why there is none: kUninitialized or kDriverNotLoaded.
int why_no_ledger();
// The index of a handle's card, or -1.
int index_of(Handle handle);

// Of a MIG slice's handle (script.h). Empty: it is none, or none any more.
std::string slice_uuid(Handle handle);
std::string slice_label(Handle handle);
int slice_memory(Handle handle, uint64_t* total, uint64_t* used);

// Copies text with its closing zero: kInsufficientSize when it doesn't fit.
int copy_text(std::string_view text, char* out, unsigned bytes);

}  // namespace vramfit::nvml

#endif
