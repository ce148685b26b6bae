// What every file of the runtime stand-in shares: the headers of its CUDA major, and how results become cudaError_t.
#ifndef VRAMFIT_VIRTUAL_GPU_CUDART_RUNTIME_H
#define VRAMFIT_VIRTUAL_GPU_CUDART_RUNTIME_H

#pragma GCC visibility push(default)
#include <cuda.h>
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

#include "virtual_gpu/device/error.h"
#include "virtual_gpu/ledger/ledger.h"

namespace vramfit::cudart {

// Remembers an error for cudaGetLastError and answers it.
cudaError_t answer(cudaError_t error);
cudaError_t answer(device::Error error);
cudaError_t answer(CUresult error);
// cudaSuccess when there is a virtual card to work with.
cudaError_t check_usable();
// cudaErrorInvalidResourceHandle and the like for a stream that nobody gave.
cudaError_t check_stream(cudaStream_t stream);
// The thread's card, touched.
device::Error touch_current();

}  // namespace vramfit::cudart

// First line of every function that needs a card.
#define VF_NEED_CARD()                                                                         \
  if (const cudaError_t unusable = vramfit::cudart::check_usable(); unusable != cudaSuccess) { \
    return unusable;                                                                           \
  }
// First line of every function with an out-parameter the caller must pass.
#define VF_NEED(pointer) \
  if ((pointer) == nullptr) return vramfit::cudart::answer(cudaErrorInvalidValue)

#endif
