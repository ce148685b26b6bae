// Handles of the dense cuSOLVER API and the status values of cusolverStatus_t.
#ifndef VRAMFIT_VIRTUAL_GPU_CUSOLVER_HANDLE_H
#define VRAMFIT_VIRTUAL_GPU_CUSOLVER_HANDLE_H

#include "virtual_gpu/library/abi.h"
#include "virtual_gpu/library/work.h"

namespace vramfit::cusolver {

enum Status : int { kSuccess = 0, kNotInitialized = 1, kAllocFailed = 2, kInvalidValue = 3, kNotSupported = 9 };

struct Handle {
  library::Stream stream = nullptr;
};

// A routine that only works on device memory, its `info` included: success and one launch. Info stays 0, "converged".
inline int launch(Handle* handle) {
  if (handle == nullptr) return kNotInitialized;
  library::launch(handle->stream);
  return kSuccess;
}

}  // namespace vramfit::cusolver

#endif
