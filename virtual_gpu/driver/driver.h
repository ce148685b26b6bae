// What every file of the driver stand-in shares. The driver's interface only grows, so one set of headers, CUDA 13's,
// serves the applications of both majors.
#ifndef VRAMFIT_VIRTUAL_GPU_DRIVER_DRIVER_H
#define VRAMFIT_VIRTUAL_GPU_DRIVER_DRIVER_H

// Declares each function under its exported name, cuMemAlloc_v2 beside cuMemAlloc.
#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#include "virtual_gpu/device/error.h"
#include "virtual_gpu/ledger/ledger.h"

// A context is a card and who made it. The runtime's is the primary one.
struct CUctx_st {
  int card = 0;
  bool is_primary = true;
  unsigned flags = 0;
  int64_t charged_bytes = 0;
};

namespace vramfit::driver {

CUresult answer(device::Error error);
// CUDA_SUCCESS when there is a virtual card to work with.
CUresult check_usable();
CUresult check_card(int card);
CUcontext primary_context(int card);
// The context of this thread; null before anything made one.
CUcontext current_context();

}  // namespace vramfit::driver

#define VF_NEED_CARD()                                                                       \
  if (const CUresult unusable = vramfit::driver::check_usable(); unusable != CUDA_SUCCESS) { \
    return unusable;                                                                         \
  }
#define VF_NEED_THIS_CARD(card)                                                                \
  if (const CUresult unusable = vramfit::driver::check_card(card); unusable != CUDA_SUCCESS) { \
    return unusable;                                                                           \
  }
#define VF_NEED(pointer) \
  if ((pointer) == nullptr) return CUDA_ERROR_INVALID_VALUE

#endif
